// Defaults are asked for before a request is judged, so whatever breaks a rule must pass through them unharmed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/planner/joint/joint_request.h"
#include "tests/core/planner/joint/joint_test_request.h"

namespace planwright {
namespace {

using testing::ElementsAre;

struct BrokenRule {
  std::string path;
  std::function<void(JointTestRequest&)> breaking;
};

std::vector<BrokenRule> BrokenRules() {
  const auto nodes = [](JointTestRequest& request) -> NodesInterconnect& {
    return request.cluster.interconnect.emplace<NodesInterconnect>();
  };
  const auto level = [](JointTestRequest& request, int32_t fan_out) {
    request.cluster.interconnect =
        HierarchyInterconnect{.levels = {{.fan_out = fan_out, .bandwidth_bytes_per_second = 1e9}}};
  };
  return {
      {"graph.samples_per_micro_batch", [](JointTestRequest& request) { request.graph.samples_per_micro_batch = 0; }},
      {"graph.operators", [](JointTestRequest& request) { request.graph.operators.clear(); }},
      {"graph.tensors[0].producer",
       [](JointTestRequest& request) { request.graph.tensors.front().producer = OperatorId(1 << 20); }},
      {"cluster.devices", [](JointTestRequest& request) { request.cluster.devices.clear(); }},
      {"cluster.devices[0].device_class",
       [](JointTestRequest& request) { request.cluster.devices.front().device_class = DeviceClassId(7); }},
      {"cluster.interconnect.nodes.devices_per_node",
       [nodes](JointTestRequest& request) { nodes(request).devices_per_node = 0; }},
      {"cluster.interconnect.hierarchy.levels",
       [](JointTestRequest& request) { request.cluster.interconnect = HierarchyInterconnect(); }},
      {"cluster.interconnect.hierarchy.levels[0].fan_out", [level](JointTestRequest& request) { level(request, 0); }},
      {"cluster.interconnect.grid.dimensions",
       [](JointTestRequest& request) { request.cluster.interconnect = GridInterconnect(); }},
      {"cluster.interconnect.matrix.bandwidth_bytes_per_second",
       [](JointTestRequest& request) { request.cluster.interconnect = MatrixInterconnect(); }},
      {"problem.joint.global_batch", [](JointTestRequest& request) { request.problem.joint->global_batch = 0; }},
      {"problem.joint.tensor_degrees[0]",
       [](JointTestRequest& request) { request.problem.joint->tensor_degrees = {0}; }},
      {"problem.joint.micro_batch_samples[0]",
       [](JointTestRequest& request) { request.problem.joint->micro_batch_samples = {0}; }},
  };
}

TEST(JointDefaultsTest, WhatBreaksARuleHasNone) {
  for (const std::string model : {"llama3-8b", "resnet50"}) {
    for (const bool by_stage : {false, true}) {
      for (const BrokenRule& rule : BrokenRules()) {
        SCOPED_TRACE(absl::StrCat(model, by_stage ? " by stage, " : ", ", rule.path));
        JointTestRequest request = RequestOf(model, "dgx-h100:1", 8);
        if (by_stage) request.problem.replication = Replication::kPerStage;
        rule.breaking(request);
        const ResolvedProblem problem =
            WithJointDefaults({request.graph, request.cluster, ResolveProblem(request.graph, request.problem)});
        EXPECT_EQ(problem.joint->tensor_degrees, request.problem.joint->tensor_degrees);
        EXPECT_EQ(problem.joint->global_batch, request.problem.joint->global_batch);
        // It is refused for that, not for what it was taken for.
        EXPECT_THAT(PathsOf(Make(request).status()), testing::Contains(testing::StartsWith(rule.path)));
      }
    }
  }
}

TEST(JointDefaultsTest, WhatObeysTheRulesHasThem) {
  const JointTestRequest request = RequestOf("resnet50", "dgx-h100:1", 8);
  const ResolvedProblem problem =
      WithJointDefaults({request.graph, request.cluster, ResolveProblem(request.graph, request.problem)});
  EXPECT_FALSE(problem.joint->micro_batch_samples.empty());
}

JointSettings SettingsOf(const JointTestRequest& request) {
  return *WithJointDefaults({request.graph, request.cluster, ResolveProblem(request.graph, request.problem)}).joint;
}

std::vector<int32_t> ContextDegreesOf(const JointTestRequest& request) { return SettingsOf(request).context_degrees; }

TEST(JointDefaultsTest, SamplesAreDividedAsFarAsRanksHaveTokens) {
  const auto of_tokens = [](const std::string& tokens, const std::string& cluster = "dgx-h100:1") {
    return ContextDegreesOf(RequestOf("transformer?kind=llama&layers=2&sequence=" + tokens, cluster, 8));
  };
  EXPECT_THAT(of_tokens("2048"), ElementsAre(1));
  EXPECT_THAT(of_tokens("4095"), ElementsAre(1));
  EXPECT_THAT(of_tokens("4096"), ElementsAre(1, 2));
  EXPECT_THAT(of_tokens("8192"), ElementsAre(1, 2, 4));
  EXPECT_THAT(of_tokens("131072"), ElementsAre(1, 2, 4, 8, 16));
  // Where each degree is a search for places of its own.
  EXPECT_THAT(of_tokens("8192", "torus2d:4"), ElementsAre(1));
  EXPECT_THAT(of_tokens("32768", "torus2d:4"), ElementsAre(1, 2, 4, 8, 16));
}

std::vector<int64_t> SamplesOf(const JointTestRequest& request) { return SettingsOf(request).micro_batch_samples; }

TEST(JointDefaultsTest, MicroBatchesDivideTheBatch) {
  EXPECT_THAT(SamplesOf(RequestOf("llama3-8b", "dgx-h100:1", 512)), ElementsAre(1, 2, 4, 8, 16));
  EXPECT_THAT(SamplesOf(RequestOf("llama3-8b", "dgx-h100:1", 60)), ElementsAre(1, 2, 3, 4, 5, 6, 10, 12, 15));
  EXPECT_THAT(SamplesOf(RequestOf("llama3-8b", "torus2d:4", 60)), ElementsAre(1, 2, 4));
  JointTestRequest measured = RequestOf("llama3-8b", "dgx-h100:1", 60);
  MeasuredLayer row;
  row.layer = "layer";
  row.samples = 6;
  measured.graph.transformer->measured_layers = {row};
  EXPECT_THAT(SamplesOf(measured), ElementsAre(1, 2, 4, 6));
}

TEST(JointDefaultsTest, OnlyMeasuredDivisionsOfSamplesCompeteWithMeasuredPasses) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 8);
  MeasuredLayer row;
  row.layer = "layer";
  request.graph.transformer->measured_layers = {row};
  EXPECT_THAT(ContextDegreesOf(request), ElementsAre(1));
  row.context_degree = 4;
  request.graph.transformer->measured_layers.push_back(row);
  EXPECT_THAT(ContextDegreesOf(request), ElementsAre(1, 4));
  // Long samples hardly fit otherwise.
  request.graph.transformer->sequence = 131'072;
  EXPECT_THAT(ContextDegreesOf(request), ElementsAre(1, 2, 4, 8, 16));
}

}  // namespace
}  // namespace planwright
