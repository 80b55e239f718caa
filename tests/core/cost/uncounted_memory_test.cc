#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/cost/plan_costing.h"
#include "core/cost/plan_warnings.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// A stage each: 100 bytes of parameters and 10 of activations, nothing to send.
OperatorGraph Chain() {
  OperatorGraph graph;
  for (const char* name : {"a", "b", "c"}) {
    graph.operators.push_back(MeasuredOperator(name, 4, 8));
    graph.operators.back().parameter_bytes = 100;
    graph.operators.back().activation_bytes = 10;
  }
  graph.tensors = {SizedTensor("x", 0, {1}, 0), SizedTensor("y", 1, {2}, 0)};
  return graph;
}

std::vector<std::pair<std::string, int64_t>> UncountedOf(const PlanningProblem& problem,
                                                         const OperatorGraph& graph = Chain(), bool spread = true) {
  const Cluster cluster = SmallCluster(3);
  const ResolvedProblem resolved = ResolveProblem(graph, problem);
  Placement placement;
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    if (i == 0 || spread) placement.stages.push_back({{}, {DeviceId(i)}});
    placement.stages.back().operators.emplace_back(i);
  }
  const CostTable costs(graph, cluster, resolved.workload);
  const Plan plan = CostPlan({graph, cluster, resolved, costs}, placement);
  std::vector<std::pair<std::string, int64_t>> uncounted;
  for (const UncountedMemory& memory : UncountedMemoryOf(graph, cluster, costs, plan)) {
    uncounted.emplace_back(memory.what, memory.peak_memory_bytes);
  }
  return uncounted;
}

// The first stage holds 200 + 10 bytes; with the optimizer 800 + 10, with three micro-batches 200 + 30.
TEST(UncountedMemoryTest, SaysWhatTheDefaultsLeaveOut) {
  EXPECT_THAT(UncountedOf({}), ElementsAre(Pair("the optimizer of adam_mixed", 810),
                                           Pair("the micro-batches in flight of ONE_F_ONE_B", 230), Pair("both", 830)));
}

TEST(UncountedMemoryTest, WhatIsCountedIsNotLeftOut) {
  PlanningProblem problem;
  problem.memory_model.preset = "adam_mixed";
  EXPECT_THAT(UncountedOf(problem), ElementsAre(Pair("the micro-batches in flight of ONE_F_ONE_B", 830)));
  problem.schedule = ScheduleKind::kOneFOneB;
  EXPECT_THAT(UncountedOf(problem), IsEmpty());
}

TEST(UncountedMemoryTest, SplitsThatAreNotContiguousHaveNoMicroBatchesInFlight) {
  PlanningProblem problem;
  problem.split = Split::kNonContiguous;
  EXPECT_THAT(UncountedOf(problem), ElementsAre(Pair("the optimizer of adam_mixed", 810)));
}

// A single stage has one micro-batch in flight under any schedule.
TEST(UncountedMemoryTest, WhatChangesNothingIsNotListed) {
  EXPECT_THAT(UncountedOf({}, Chain(), /*spread=*/false), ElementsAre(Pair("the optimizer of adam_mixed", 2430)));
  OperatorGraph graph = Chain();
  for (Operator& op : graph.operators) op.parameter_bytes = 0;
  EXPECT_THAT(UncountedOf({}, graph, /*spread=*/false), IsEmpty());
}

TEST(UncountedMemoryTest, InferenceAndDeclaredMemoryLeaveNothingOut) {
  PlanningProblem inference;
  inference.workload = Workload::kInference;
  EXPECT_THAT(UncountedOf(inference), IsEmpty());
  OperatorGraph graph = Chain();
  for (Operator& op : graph.operators) op.memory_bytes = 5;
  EXPECT_THAT(UncountedOf({}, graph), IsEmpty());
}

}  // namespace
}  // namespace planwright
