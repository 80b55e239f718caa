#include "client/importer/graphs/piper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/importer/importer.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Two nodes of one kind, one of which cannot say how long its forward pass takes.
constexpr char kFile[] = R"({
  "maxDevices": 4, "maxMemoryPerDevice": 8e10, "bandwidth": 2.5e10, "mbsInBatch": 8,
  "nodes": [
    {"id": 7, "name": "Layer", "TMPCs": {"1": [
      {"id": "vanilla", "timePerSample": 0.03, "parameterSize": 100, "memoryUsageA": 1000.5, "memoryUsageB": 250,
       "syncTimeFw": {}, "syncTimeBw": {"3": 0}},
      {"id": "activation recomp", "timePerSample": 0.04, "parameterSize": 100, "memoryUsageA": 10, "memoryUsageB": 250}],
      "2": [
      {"id": "vanilla", "timePerSample": 0.02, "parameterSize": 50, "memoryUsageA": 600, "memoryUsageB": 120,
       "syncTimeFw": {}, "syncTimeBw": {"3": 512}}],
      "4": []}},
    {"id": 3, "name": "Layer", "TMPCs": {"1": [
      {"id": "vanilla", "timePerSample": 0.03, "parameterSize": 100, "memoryUsageA": 1, "memoryUsageB": 200}]}},
    {"id": 4, "name": "Head", "TMPCs": {"1": [
      {"id": "vanilla", "timePerSample": 0.01, "parameterSize": 0, "memoryUsageA": 1, "memoryUsageB": 0}]}}],
  "edges": [{"sourceId": 7, "destId": 3, "communicationCost": 8192},
            {"sourceId": 7, "destId": 4, "communicationCost": 4096}]})";

TEST(PiperTest, ReadsTheCostsOfOneDevice) {
  const auto imported = ImportGraph(kFile, "piper.json", {});
  ASSERT_TRUE(imported.ok()) << imported.status();
  const v1::Graph& graph = imported->request.graph();
  ASSERT_THAT(graph.operators(), SizeIs(3));
  EXPECT_EQ(graph.operators(0).name(), "7");
  EXPECT_EQ(graph.operators(0).type(), "Layer");
  EXPECT_EQ(graph.operators(2).name(), "4");
  EXPECT_EQ(graph.operators(2).type(), "Head");
  EXPECT_NEAR(graph.operators(0).costs(0).forward_ms(), 10, 1e-9);
  EXPECT_NEAR(graph.operators(0).costs(0).backward_ms(), 20, 1e-9);
  EXPECT_NEAR(graph.operators(1).costs(0).forward_ms(), 10, 1e-9);
  EXPECT_EQ(graph.operators(0).activation_bytes(), 1001);
  EXPECT_EQ(graph.operators(0).parameter_bytes(), 100);
  EXPECT_EQ(graph.operators(0).workspace_bytes(), 50);
  ASSERT_THAT(graph.operators(0).variants(), SizeIs(2));
  const v1::OperatorVariant& whole = graph.operators(0).variants(0);
  EXPECT_EQ(whole.tensor_degree(), 1);
  EXPECT_NEAR(whole.forward_ms(), 10, 1e-9);
  EXPECT_NEAR(whole.backward_ms(), 20, 1e-9);
  EXPECT_EQ(whole.activation_bytes(), 1001);
  EXPECT_EQ(whole.workspace_bytes(), 50);
  EXPECT_NEAR(whole.recomputation().extra_ms(), 10, 1e-9);
  EXPECT_EQ(whole.recomputation().activation_bytes(), 10);
  EXPECT_EQ(whole.recomputation().workspace_bytes(), 50);
  const v1::OperatorVariant& half = graph.operators(0).variants(1);
  EXPECT_EQ(half.tensor_degree(), 2);
  EXPECT_NEAR(half.forward_ms() + half.backward_ms(), 20, 1e-9);
  EXPECT_EQ(half.parameter_bytes(), 50);
  EXPECT_EQ(half.workspace_bytes(), 20);
  EXPECT_FALSE(half.has_recomputation());
  ASSERT_THAT(graph.tensors(), SizeIs(2));
  EXPECT_EQ(graph.tensors(0).size_bytes(), 4096);
  EXPECT_THAT(graph.tensors(0).consumers(), ElementsAre("4"));
  EXPECT_THAT(graph.tensors(1).consumers(), ElementsAre("3"));
  const v1::Cluster& cluster = imported->request.cluster();
  EXPECT_EQ(cluster.device_groups(0).count(), 4);
  EXPECT_EQ(cluster.device_classes(0).memory_bytes(), 80'000'000'000);
  EXPECT_EQ(cluster.interconnect().uniform().bandwidth_bytes_per_second(), 2.5e10);
  EXPECT_THAT(imported->warnings, ElementsAre(HasSubstr("taken for seconds"), HasSubstr("a third of the times"),
                                              HasSubstr("--cluster overrules them")));
}

TEST(PiperTest, ReadsWhatEndsOfStagesExchange) {
  std::string text = kFile;
  const std::string recomputed = R"("memoryUsageA": 10, "memoryUsageB": 250)";
  text.insert(text.find(recomputed) + recomputed.size(), R"(, "syncTimeBw": {"4": 30})");
  const std::string other = R"("memoryUsageA": 1, "memoryUsageB": 200)";
  text.insert(text.find(other) + other.size(), R"(, "syncTimeFw": {"7": 20.5})");
  const auto imported = ImportGraph(text, "piper.json", {});
  ASSERT_TRUE(imported.ok()) << imported.status();
  const v1::Graph& graph = imported->request.graph();
  ASSERT_EQ(graph.tensors_size(), 2);
  const auto exchanges = [&](int op, int variant) {
    std::vector<std::pair<std::string, int64_t>> listed;
    for (const auto& exchange : graph.operators(op).variants(variant).boundary_exchanges()) {
      listed.emplace_back(exchange.tensor(), exchange.bytes());
    }
    return listed;
  };
  // The tensor of 4,096 bytes goes to node 4, that of 8,192 to node 3.
  using Listed = std::vector<std::pair<std::string, int64_t>>;
  EXPECT_EQ(exchanges(0, 0), (Listed{{"7.out", 30}}));
  EXPECT_EQ(exchanges(0, 1), (Listed{{"7.out1", 512}}));
  EXPECT_EQ(exchanges(1, 0), (Listed{{"7.out1", 21}}));
  EXPECT_THAT(imported->warnings, ::testing::Contains(HasSubstr("the larger is taken for both")));
}

TEST(PiperTest, EndsOfStagesAreOfEdges) {
  std::string text = kFile;
  const std::string other = R"("memoryUsageA": 1, "memoryUsageB": 200)";
  text.insert(text.find(other) + other.size(), R"(, "syncTimeFw": {"4": 1}, "syncTimeBw": {"x": 1, "7": -1})");
  const auto imported = ImportGraph(text, "piper.json", {});
  EXPECT_THAT(imported.status().message(), AllOf(HasSubstr("nodes[1].TMPCs.1.syncTimeFw: must name nodes"),
                                                 HasSubstr("nodes[1].TMPCs.1[0].syncTimeBw: must have ids")));
}

TEST(PiperTest, WarnsOfSecondsThatLookLikeMilliseconds) {
  std::string text = kFile;
  for (std::size_t at = 0; (at = text.find("0.0", at)) != std::string::npos; at += 3) text.replace(at, 3, "1.0");
  const auto imported = ImportGraph(text, "piper.json", {});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->warnings, ::testing::Contains(HasSubstr("--time_unit=ms reads them so")));
}

TEST(PiperTest, DegreesAreNumbers) {
  const auto imported = ImportGraph(R"({
    "maxDevices": 1, "maxMemoryPerDevice": 1, "bandwidth": 1, "mbsInBatch": 1,
    "nodes": [{"id": 1, "TMPCs": {"1": [{"id": "vanilla", "timePerSample": 1, "parameterSize": 1, "memoryUsageA": 1,
                                         "memoryUsageB": 1}], "02": [], "two": [], "0": []}}],
    "edges": []})",
                                    "p.json", {});
  std::vector<std::string> fields;
  for (const FieldViolation& violation : ErrorDetailsOf(imported.status()).violations)
    fields.push_back(violation.field);
  EXPECT_THAT(fields, ElementsAre("nodes[0].TMPCs.0", "nodes[0].TMPCs.02", "nodes[0].TMPCs.two"));
}

TEST(PiperTest, NamesEveryMistakeAndItsPath) {
  const auto imported = ImportGraph(R"({
    "maxDevices": 0, "maxMemoryPerDevice": "much", "bandwidth": 0, "mbsInBatch": 1,
    "nodes": [{"id": 1, "TMPCs": {"2": []}}, {"id": 1, "TMPCs": {"1": [{"id": "fast"}]}}, 5],
    "edges": [{"sourceId": 1, "destId": 1, "communicationCost": 1}, {"sourceId": 9, "destId": 1}]})",
                                    "p.json", {});
  std::vector<std::string> errors;
  for (const FieldViolation& violation : ErrorDetailsOf(imported.status()).violations) {
    errors.push_back(violation.field + ": " + violation.description);
  }
  EXPECT_THAT(
      errors,
      ElementsAre("maxMemoryPerDevice: must be a number, is \"much\"",
                  "maxDevices: must be an integer from 1 to 10000, is 0", "bandwidth: must be > 0, is 0",
                  "nodes[0].TMPCs.1: is missing", "nodes[1].id: must be unique, is 1 as in nodes[0]",
                  "nodes[1].TMPCs.1[0].timePerSample: is missing", "nodes[1].TMPCs.1[0].parameterSize: is missing",
                  "nodes[1].TMPCs.1[0].memoryUsageA: is missing", "nodes[1].TMPCs.1[0].memoryUsageB: is missing",
                  "nodes[1].TMPCs.1: must have a variant \"vanilla\"", "nodes[2]: must be an object, is 5",
                  "edges[0].destId: must differ from sourceId: an operator cannot wait for itself",
                  "edges[1].communicationCost: is missing", "edges[1].sourceId: must be the id of a node, is 9"));
}

}  // namespace
}  // namespace planwright::client
