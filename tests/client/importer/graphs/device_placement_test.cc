#include "client/importer/graphs/device_placement.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/importer/importer.h"
#include "client/library/error_details.h"
#include "tests/support/shared_dir.h"

namespace planwright::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

absl::StatusOr<ImportedRequest> ImportPlacement(const std::string& text) {
  return ImportGraph(text, "test.json", {.format = GraphFormat::kAuto});
}

// The violations of a file that must not be read, one "path: rule" each.
std::vector<std::string> ViolationsIn(const std::string& text) {
  const auto imported = ImportPlacement(text);
  EXPECT_EQ(imported.status().code(), absl::StatusCode::kInvalidArgument) << imported.status();
  std::vector<std::string> violations;
  for (const FieldViolation& violation : ErrorDetailsOf(imported.status()).violations) {
    violations.push_back(absl::StrCat(violation.field, ": ", violation.description));
  }
  return violations;
}

// A file whose node list and edge list are given.
std::string FileWith(const std::string& nodes, const std::string& edges) {
  return absl::StrCat(R"({"maxSizePerFPGA": 100, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [)", nodes, R"(], "edges": [)",
                      edges, "]}");
}

std::string PlacedNode(const std::string& id) {
  return absl::StrCat(R"({"supportedOnFpga": 1, "fpgaLatency": 1, "cpuLatency": 2, "isBackwardNode": 0, "id": )", id,
                      "}");
}

std::string Nodes(const std::vector<std::string>& ids) {
  return absl::StrJoin(ids, ",", [](std::string* text, const std::string& id) { text->append(PlacedNode(id)); });
}

// `node` with one more field; of equal names the last counts.
std::string With(std::string node, const std::string& field) {
  node.insert(node.size() - 1, absl::StrCat(", ", field));
  return node;
}

TEST(DevicePlacementTest, BecomesGraphClusterAndProblem) {
  const auto imported = ImportPlacement(R"({
    "maxSizePerFPGA": 1000.5, "maxFPGAs": 2, "maxCPUs": 1, "somethingElse": [],
    "nodes": [
      {"id": 7, "name": "MatMul", "supportedOnFpga": true, "fpgaLatency": 1.5, "cpuLatency": 3, "isBackwardNode": false,
       "colorClass": 4, "layerId": 9, "size": 10.25},
      {"id": 8, "supportedOnFpga": 0, "fpgaLatency": 0, "cpuLatency": 1e-3, "isBackwardNode": 1, "colorClass": 4}
    ],
    "edges": [{"sourceId": 7, "destId": 8, "cost": 0.25, "size": 64}]
  })");
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->warnings, IsEmpty());
  v1::CreatePlanRequest expected;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        graph {
          display_name: "test"
          operators {
            name: "7"
            type: "MatMul"
            layer: "9"
            pass: PASS_FORWARD
            memory_bytes: 11
            colocation_group: "4"
            costs { device_class: "accelerator" forward_ms: 1.5 }
            costs { device_class: "cpu" forward_ms: 3 }
          }
          operators {
            name: "8"
            pass: PASS_BACKWARD
            memory_bytes: 0
            colocation_group: "4"
            unsupported_device_classes: "accelerator"
            costs { device_class: "accelerator" }
            costs { device_class: "cpu" forward_ms: 0.001 }
          }
          tensors { name: "t7" producer: "7" consumers: "8" size_bytes: 64 transfer_ms: 0.25 }
        }
        cluster {
          device_classes { name: "accelerator" kind: DEVICE_KIND_ACCELERATOR memory_bytes: 1000 }
          device_classes { name: "cpu" kind: DEVICE_KIND_CPU }
          device_groups { name_prefix: "acc" device_class: "accelerator" count: 2 }
          device_groups { name_prefix: "cpu" device_class: "cpu" count: 1 }
          interconnect { host_staged {} }
        }
        problem { memory_model { kind: KIND_DECLARED } })pb",
      &expected));
  google::protobuf::util::MessageDifferencer differencer;
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(expected, imported->request)) << difference;
}

TEST(DevicePlacementTest, OneCostMakesOneTensorOfTheLargestSize) {
  const auto imported = ImportPlacement(FileWith(Nodes({"1", "2", "3"}),
                                                 R"({"sourceId": 1, "destId": 2, "cost": 0.5, "size": 10},
                                           {"sourceId": 1, "destId": 2, "cost": 0.5, "size": 10},
                                           {"sourceId": 1, "destId": 3, "cost": 0.5000005, "size": 20})"));
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_THAT(imported->request.graph().tensors(), SizeIs(1));
  const v1::Tensor& tensor = imported->request.graph().tensors(0);
  EXPECT_EQ(tensor.name(), "t1");
  EXPECT_THAT(tensor.consumers(), ElementsAre("2", "3"));
  EXPECT_EQ(tensor.size_bytes(), 20);
  EXPECT_EQ(tensor.transfer_ms(), 0.5000005);
}

TEST(DevicePlacementTest, SeveralCostsMakeOneTensorPerEdge) {
  const auto imported = ImportPlacement(FileWith(Nodes({"1", "2", "3", "4"}),
                                                 R"({"sourceId": 1, "destId": 2, "cost": 0.5},
                                           {"sourceId": 1, "destId": 3, "cost": 0.5},
                                           {"sourceId": 1, "destId": 4, "cost": 0.7},
                                           {"sourceId": 1, "destId": 4, "cost": 0.7, "size": 8})"));
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_THAT(imported->request.graph().tensors(), SizeIs(3));
  EXPECT_EQ(imported->request.graph().tensors(0).name(), "t1.1");
  EXPECT_EQ(imported->request.graph().tensors(1).name(), "t1.2");
  const v1::Tensor& last = imported->request.graph().tensors(2);
  EXPECT_EQ(last.name(), "t1.3");
  EXPECT_THAT(last.consumers(), ElementsAre("4"));
  EXPECT_EQ(last.transfer_ms(), 0.7);
  EXPECT_EQ(last.size_bytes(), 8);
}

TEST(DevicePlacementTest, WarnsOfCostsThatLookLikeSeconds) {
  const auto imported =
      ImportPlacement(FileWith(Nodes({"1", "2"}), R"({"sourceId": 1, "destId": 2, "cost": 0.001, "size": 2147483})"));
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(
      imported->warnings,
      ElementsAre("test.json: transfers look 1,000 times too fast (the median one moves 2147 GB/s): the costs of "
                  "the edges may be in seconds where milliseconds are meant; they are used as given"));
  EXPECT_EQ(imported->request.graph().tensors(0).transfer_ms(), 0.001);
}

TEST(DevicePlacementTest, LeavesOutDevicesThatThereAreNone) {
  const auto imported = ImportPlacement(R"({"maxSizePerFPGA": 1, "maxFPGAs": 0, "maxCPUs": 3, "nodes": [)" +
                                        PlacedNode("1") + R"(], "edges": []})");
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_THAT(imported->request.cluster().device_groups(), SizeIs(1));
  EXPECT_EQ(imported->request.cluster().device_groups(0).name_prefix(), "cpu");
}

TEST(DevicePlacementTest, LeavesCyclesToTheService) {
  EXPECT_TRUE(ImportPlacement(FileWith(Nodes({"1", "2"}), R"({"sourceId": 1, "destId": 2, "cost": 0},
                                                               {"sourceId": 2, "destId": 1, "cost": 0})"))
                  .ok());
}

TEST(DevicePlacementTest, NamesEveryViolationOfTheTopLevel) {
  EXPECT_THAT(ViolationsIn(R"({"nodes": 5})"),
              ElementsAre("maxSizePerFPGA: is missing", "maxFPGAs: is missing", "maxCPUs: is missing",
                          "edges: is missing", "nodes: must be a list, is 5"));
  EXPECT_THAT(
      ViolationsIn(R"({"maxSizePerFPGA": 1e30, "maxFPGAs": -1, "maxCPUs": 4294967296, "nodes": [], "edges": {}})"),
      ElementsAre("maxSizePerFPGA: must be at most 2^62 bytes, is 1e+30",
                  "maxFPGAs: must be an integer from 0 to 2147483647, is -1",
                  "maxCPUs: must be an integer from 0 to 2147483647, is 4294967296",
                  "edges: must be a list, is an object"));
  EXPECT_THAT(
      ViolationsIn(R"({"maxSizePerFPGA": "16 GB", "maxFPGAs": 1.5, "maxCPUs": null, "nodes": [], "edges": []})"),
      ElementsAre("maxCPUs: is missing", "maxSizePerFPGA: must be a number, is \"16 GB\"",
                  "maxFPGAs: must be an integer from 0 to 2147483647, is 1.5"));
}

TEST(DevicePlacementTest, NamesNodeAndField) {
  const auto violation_of = [](const std::string& node) {
    return ViolationsIn(FileWith(absl::StrCat(PlacedNode("0"), ",", node), ""));
  };
  EXPECT_THAT(violation_of(With(PlacedNode("1"), R"("fpgaLatency": "fast")")),
              ElementsAre("nodes[1].fpgaLatency: must be a number, is \"fast\""));
  EXPECT_THAT(violation_of(With(PlacedNode("1"), R"("cpuLatency": -0.5)")),
              ElementsAre("nodes[1].cpuLatency: must be >= 0, is -0.5"));
  EXPECT_THAT(violation_of(With(PlacedNode("1"), R"("fpgaLatency": true)")),
              ElementsAre("nodes[1].fpgaLatency: must be a number, is true"));
  EXPECT_THAT(violation_of(With(PlacedNode("1"), R"("supportedOnFpga": 2)")),
              ElementsAre("nodes[1].supportedOnFpga: must be true, false, 0 or 1, is 2"));
  EXPECT_THAT(violation_of(With(PlacedNode("1"), R"("isBackwardNode": "no")")),
              ElementsAre("nodes[1].isBackwardNode: must be true, false, 0 or 1, is \"no\""));
  EXPECT_THAT(violation_of(With(PlacedNode("1"), R"("size": 1e300)")),
              ElementsAre("nodes[1].size: must be at most 2^62 bytes, is 1e+300"));
  EXPECT_THAT(violation_of(With(PlacedNode("1"), R"("name": ["a"])")),
              ElementsAre("nodes[1].name: must be a string, is a list"));
  EXPECT_THAT(
      violation_of(With(PlacedNode("1"), R"("containedSubnodes": [])")),
      ElementsAre("nodes[1].containedSubnodes: contracted graphs cannot be read; use the graph it was made from"));
  EXPECT_THAT(violation_of("[]"), ElementsAre("nodes[1]: must be an object, is a list"));
  EXPECT_THAT(violation_of("{}"), ElementsAre("nodes[1].id: is missing", "nodes[1].supportedOnFpga: is missing",
                                              "nodes[1].cpuLatency: is missing", "nodes[1].fpgaLatency: is missing",
                                              "nodes[1].isBackwardNode: is missing"));
}

TEST(DevicePlacementTest, RefusesIdsThatAreNoIntegersOrNotUnique) {
  EXPECT_THAT(ViolationsIn(FileWith(PlacedNode("2.5"), "")), ElementsAre(HasSubstr("nodes[0].id: must be an integer")));
  EXPECT_THAT(ViolationsIn(FileWith(PlacedNode("true"), "")),
              ElementsAre(HasSubstr("nodes[0].id: must be an integer")));
  EXPECT_THAT(ViolationsIn(FileWith(PlacedNode("18446744073709551615"), "")),
              ElementsAre(HasSubstr("nodes[0].id: must be")));
  EXPECT_THAT(ViolationsIn(FileWith(Nodes({"3", "4", "3.0"}), "")),
              ElementsAre("nodes[2].id: must be unique, is 3 as in nodes[0]"));
}

TEST(DevicePlacementTest, NamesEdgeAndField) {
  const auto violation_of = [](const std::string& edge) { return ViolationsIn(FileWith(Nodes({"1", "2"}), edge)); };
  EXPECT_THAT(violation_of(R"({"sourceId": 1, "destId": 9, "cost": 0})"),
              ElementsAre("edges[0].destId: must be the id of a node, is 9"));
  EXPECT_THAT(violation_of(R"({"sourceId": 1, "destId": 1, "cost": 0})"),
              ElementsAre("edges[0].destId: must differ from sourceId: an operator cannot wait for itself"));
  EXPECT_THAT(violation_of(R"({"sourceId": 1, "destId": 2, "cost": -1})"),
              ElementsAre("edges[0].cost: must be >= 0, is -1"));
  EXPECT_THAT(violation_of(R"({"sourceId": 1})"),
              ElementsAre("edges[0].destId: is missing", "edges[0].cost: is missing"));
  EXPECT_THAT(violation_of("7"), ElementsAre("edges[0]: must be an object, is 7"));
}

TEST(DevicePlacementTest, ListsAHundredViolationsAndCountsTheRest) {
  std::string nodes = PlacedNode("\"x\"");
  for (int i = 1; i < 150; ++i) absl::StrAppend(&nodes, ",", PlacedNode("\"x\""));
  const auto imported = ImportPlacement(FileWith(nodes, ""));
  const ErrorDetails details = ErrorDetailsOf(imported.status());
  EXPECT_THAT(details.violations, SizeIs(100));
  EXPECT_EQ(details.violation_count, 150);
  EXPECT_THAT(std::string(imported.status().message()), HasSubstr("... and 50 more"));
}

TEST(DevicePlacementTest, ReadsEveryPublishedFile) {
  const auto folder = SharedFile("workloads/device-placement/throughput");
  if (!folder.has_value()) GTEST_SKIP() << "the published workloads are not there";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    const std::ifstream file(entry.path());
    std::ostringstream text;
    text << file.rdbuf();
    const auto imported = ImportGraph(text.str(), entry.path().string(), {.format = GraphFormat::kAuto});
    ASSERT_TRUE(imported.ok()) << imported.status();
    const bool is_layer_graph = entry.path().filename().string().starts_with("layer_");
    EXPECT_EQ(imported->warnings.size(), is_layer_graph ? 1U : 0U) << entry.path();
    // No source of these files has edges of different costs.
    for (const v1::Tensor& tensor : imported->request.graph().tensors()) {
      EXPECT_EQ(tensor.name(), absl::StrCat("t", tensor.producer()));
    }
    ++count;
  }
  EXPECT_EQ(count, 9);
}

}  // namespace
}  // namespace planwright::client
