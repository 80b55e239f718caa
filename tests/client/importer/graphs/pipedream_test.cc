#include "client/importer/graphs/pipedream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "client/importer/graphs/piper.h"
#include "client/importer/importer.h"
#include "client/library/error_details.h"
#include "tests/support/shared_dir.h"

namespace planwright::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kProfile[] =
    "node2 -- Input1 -- forward_compute_time=18.962, backward_compute_time=0.000, activation_size=100, "
    "parameter_size=0\n"
    "node1 -- Conv2d(3, 64, kernel_size=(7, 7)) -- forward_compute_time=2, backward_compute_time=3.5, "
    "activation_size=[10.0; 20.5], parameter_size=64.000 \n"
    "node3 -- ReLU(inplace) -- forward_compute_time=1, backward_compute_time=1, activation_size=30, parameter_size=0\n"
    "  node2 -- node1\n"
    " \tnode1 -- node3\n"
    "node2 -- node3\n";

struct ReadProfileOf {
  v1::Graph graph;
  std::vector<std::string> warnings;
};

ReadProfileOf ReadProfileText(const std::string& text, std::optional<double> unit = std::nullopt) {
  ReadProfileOf read;
  const absl::Status status = ReadPipeDreamGraph(text, "g", unit, read.graph, read.warnings);
  EXPECT_TRUE(status.ok()) << status;
  return read;
}

std::vector<std::string> ErrorsInPipedream(const std::string& text) {
  v1::Graph graph;
  std::vector<std::string> warnings;
  const absl::Status status = ReadPipeDreamGraph(text, "g", std::nullopt, graph, warnings);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  std::vector<std::string> errors;
  for (const FieldViolation& violation : ErrorDetailsOf(status).violations) {
    errors.push_back(violation.field + ": " + violation.description);
  }
  return errors;
}

TEST(PipeDreamTest, ReadsNodesAndEdgesAsProfilesWriteThem) {
  const auto [graph, warnings] = ReadProfileText(kProfile);
  ASSERT_THAT(graph.operators(), SizeIs(3));
  EXPECT_EQ(graph.operators(0).type(), "Input");
  EXPECT_THAT(graph.operators(0).costs(), IsEmpty());
  const v1::Operator& conv = graph.operators(1);
  EXPECT_EQ(conv.name(), "node1");
  EXPECT_EQ(conv.type(), "Conv2d");
  EXPECT_EQ(conv.costs(0).forward_ms(), 2);
  EXPECT_EQ(conv.costs(0).backward_ms(), 3.5);
  EXPECT_EQ(conv.parameter_bytes(), 64);
  EXPECT_EQ(conv.activation_bytes(), 100);
  // Both of its inputs, one of which is a list whose sum is rounded.
  EXPECT_EQ(graph.operators(2).activation_bytes(), 131);
  ASSERT_THAT(graph.tensors(), SizeIs(2));
  EXPECT_EQ(graph.tensors(1).producer(), "node1");
  EXPECT_EQ(graph.tensors(1).size_bytes(), 31);
  EXPECT_THAT(graph.tensors(0).consumers(), ElementsAre("node1", "node3"));
  EXPECT_THAT(warnings,
              ElementsAre(HasSubstr("taken for milliseconds"), HasSubstr("node2 is an input: its 18.962 ms")));
}

TEST(PipeDreamTest, TakesTheUnitThatIsSaid) {
  const auto [graph, warnings] = ReadProfileText(kProfile, 1000);
  EXPECT_EQ(graph.operators(1).costs(0).forward_ms(), 2000);
  EXPECT_THAT(warnings, SizeIs(1));
}

TEST(PipeDreamTest, NamesEveryMistakeAndItsLine) {
  const std::string node =
      " -- ReLU -- forward_compute_time=1, backward_compute_time=1, activation_size=1, parameter_size=0\n";
  EXPECT_THAT(ErrorsInPipedream(""), ElementsAre(": has no node"));
  EXPECT_THAT(ErrorsInPipedream("hello\n"),
              ElementsAre("line 1: must begin with a node such as node10, begins \"hello\""));
  EXPECT_THAT(ErrorsInPipedream("node1" + node + "node1" + node),
              ElementsAre("line 2: must name a node of its own, node1 is that of line 1"));
  EXPECT_THAT(ErrorsInPipedream("node1" + node + "\tnode1 -- node2\n\tnode1 -- node1\n\tnode1 -- x\n"),
              ElementsAre("line 4: must name the node that the edge leads to, is \"x\"",
                          "line 2: there is no node \"node2\"", "line 3: \"node1\" must not lead to itself"));
  EXPECT_THAT(ErrorsInPipedream(
                  "node1 -- ReLU -- forward_compute_time=-1, activation_size=[1; x], parameter_size=1e300, speed=1\n"),
              ElementsAre("line 1: forward_compute_time must be a number >= 0, is \"-1\"",
                          "line 1: activation_size must be a number >= 0, is \"[1; x]\"",
                          "line 1: parameter_size must be a number >= 0, is \"1e300\"",
                          "line 1: has no field \"speed\"", "line 1: backward_compute_time is missing"));
  EXPECT_THAT(
      ErrorsInPipedream("node1 -- ReLU -- forward_compute_time=nan, backward_compute_time=1, activation_size=1, "
                        "parameter_size=0\n"),
      SizeIs(1));
}

TEST(PipeDreamTest, ReadsTheStagesOfTheOptimizer) {
  const std::string numbers =
      " -- forward_compute_time=1, backward_compute_time=1, activation_size=1.0, parameter_size=0";
  const std::string text = "node1 -- ReLU" + numbers + " -- stage_id=1\nnode2 -- Input" + numbers + " -- stage_id=0\n" +
                           "node3 -- ReLU" + numbers + " -- stage_id=1\n\tnode2 -- node1\n";
  EXPECT_TRUE(HasPipeDreamStages(text));
  EXPECT_FALSE(HasPipeDreamStages(kProfile));
  const auto plan = ReadPipeDreamStages(text, "p");
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_THAT(plan->stages(), SizeIs(2));
  EXPECT_THAT(plan->stages(0).operators(), ElementsAre("node2"));
  EXPECT_THAT(plan->stages(1).operators(), ElementsAre("node1", "node3"));
  EXPECT_FALSE(ReadPipeDreamStages(kProfile, "p").ok());
}

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What PipeDream calls the node, which is the type of Piper's.
std::string NodeName(const v1::Operator& op) { return op.name().starts_with("node") ? op.name() : op.type(); }

// By node: forward and backward together.
std::map<std::string, double> NodeTimes(const v1::Graph& graph) {
  std::map<std::string, double> times;
  for (const v1::Operator& op : graph.operators()) {
    times[NodeName(op)] = op.costs().empty() ? 0 : op.costs(0).forward_ms() + op.costs(0).backward_ms();
  }
  return times;
}

double Sum(const std::map<std::string, double>& times) {
  double sum = 0;
  for (const auto& [name, time] : times) sum += time;
  return sum;
}

TEST(PipeDreamTest, Resnet50AgreesWithPipersFormOfIt) {
  const auto profile_file = SharedFile("workloads/pipedream/resnet50.graph.txt");
  const auto piper_file = SharedFile("workloads/piper/resnet.json");
  if (!profile_file.has_value() || !piper_file.has_value()) GTEST_SKIP() << "the published profiles are not there";
  const std::string profile = TextOf(*profile_file);
  const std::string piper = TextOf(*piper_file);
  const ReadProfileOf pipedream = ReadProfileText(profile);
  const auto other = ImportGraph(piper, "resnet.json", {.ms_per_unit = 1});
  ASSERT_TRUE(other.ok()) << other.status();
  const std::map<std::string, double> ours = NodeTimes(pipedream.graph);
  std::map<std::string, double> theirs = NodeTimes(other->request.graph());
  ASSERT_THAT(ours, SizeIs(177));
  EXPECT_NEAR(Sum(theirs), 462.381, 1e-9);
  EXPECT_NEAR(Sum(ours), 462.381 - 18.962, 1e-9);
  EXPECT_NEAR(theirs["node1"], 18.962, 1e-9);
  EXPECT_THAT(pipedream.warnings, ::testing::Contains(HasSubstr("node1 is an input: its 18.962 ms")));
  theirs["node1"] = 0;
  for (const auto& [name, time] : ours) EXPECT_NEAR(theirs[name], time, 1e-9) << name;
  // Forward and backward passes agree as well, which Piper's form tells only by its recomputation.
  std::map<std::string, const v1::Operator*> by_name;
  for (const v1::Operator& op : other->request.graph().operators()) by_name.emplace(NodeName(op), &op);
  for (const v1::Operator& op : pipedream.graph.operators()) {
    if (op.costs().empty()) continue;
    EXPECT_NEAR(by_name.at(op.name())->costs(0).forward_ms(), op.costs(0).forward_ms(), 1e-9) << op.name();
    EXPECT_EQ(by_name.at(op.name())->parameter_bytes(), op.parameter_bytes()) << op.name();
  }
}

}  // namespace
}  // namespace planwright::client
