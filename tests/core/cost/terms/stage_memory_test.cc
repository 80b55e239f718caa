#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cost/terms/memory_form.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

// The operators of examples 8 and 9 of docs/cost-model-examples.md.
OperatorGraph ThreeOperators() {
  OperatorGraph graph;
  graph.operators = {MeasuredOperator("a", 4), MeasuredOperator("b", 6), MeasuredOperator("c", 5)};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto n = static_cast<int64_t>(i + 1);
    graph.operators[i].parameter_bytes = 100 * n;
    graph.operators[i].activation_bytes = 10 * n;
    graph.operators[i].workspace_bytes = 5;
  }
  graph.operators[1].workspace_bytes = 7;
  return graph;
}

const std::vector<OperatorId> kFirst = {OperatorId(0)};
const std::vector<OperatorId> kOthers = {OperatorId(1), OperatorId(2)};
constexpr int64_t kBoundaryBytes = 8;

PlanningProblem Components(Workload workload, const std::string& preset) {
  PlanningProblem problem;
  problem.workload = workload;
  problem.memory_model.preset = preset;
  return problem;
}

int64_t MemoryOf(const PlanningProblem& problem, const std::vector<OperatorId>& operators, int32_t in_flight = 1) {
  const OperatorGraph graph = ThreeOperators();
  return StageMemoryBytes(graph, ResolveProblem(graph, problem), operators, kBoundaryBytes, in_flight);
}

// Example 8: 10, and 20 + 30; what else is said does not count.
TEST(StageMemoryTest, DeclaredIsTheSum) {
  OperatorGraph graph = ThreeOperators();
  for (std::size_t i = 0; i < 3; ++i) graph.operators[i].memory_bytes = static_cast<int64_t>(10 * (i + 1));
  const ResolvedProblem problem = ResolveProblem(graph, {});
  EXPECT_EQ(StageMemoryBytes(graph, problem, kFirst, kBoundaryBytes, 4), 10);
  EXPECT_EQ(StageMemoryBytes(graph, problem, kOthers, kBoundaryBytes, 4), 50);
}

// Example 9. {a}: 100 x 2 + 10 + 5 + 2 x 8; {b, c}: 500 x 2 + 50 + 7 + 2 x 8.
TEST(StageMemoryTest, ComponentsOfTrainingWithSgd) {
  EXPECT_EQ(MemoryOf(Components(Workload::kTraining, "sgd"), kFirst), 231);
  EXPECT_EQ(MemoryOf(Components(Workload::kTraining, "sgd"), kOthers), 1'073);
}

// {a}: 100 x (1 + 1 + 6) + 31.
TEST(StageMemoryTest, ComponentsOfTrainingWithAdam) {
  EXPECT_EQ(MemoryOf(Components(Workload::kTraining, "adam_mixed"), kFirst), 831);
}

// {a}: 100 x (2 + 1) + 31.
TEST(StageMemoryTest, ComponentsOfMadPipe) {
  EXPECT_EQ(MemoryOf(Components(Workload::kTraining, "madpipe"), kFirst), 331);
}

// {a}: 100 x 1 + 5 + 2 x 8: no gradients, no activations kept.
TEST(StageMemoryTest, ComponentsOfInference) {
  EXPECT_EQ(MemoryOf(Components(Workload::kInference, "adam_mixed"), kFirst), 121);
}

TEST(StageMemoryTest, ActivationsAreKeptForEachMicroBatchInFlight) {
  EXPECT_EQ(MemoryOf(Components(Workload::kTraining, "sgd"), kFirst, 3), 251);
  EXPECT_EQ(MemoryOf(Components(Workload::kInference, "sgd"), kFirst, 3), 121);
}

TEST(StageMemoryTest, ReservedBytesCountOncePerStage) {
  PlanningProblem problem = Components(Workload::kTraining, "sgd");
  problem.memory_model.reserved_bytes = 50;
  EXPECT_EQ(MemoryOf(problem, kOthers), 1'123);
}

// 500 x 2.001 = 1000.5 rounds to 1001, + 50 + 7 + 2 x 8; 200 x 2.001 and 300 x 2.001 rounded apart would give 1002.
TEST(StageMemoryTest, ParameterStateIsRoundedUpOnce) {
  PlanningProblem problem = Components(Workload::kTraining, "sgd");
  problem.memory_model.optimizer_bytes_per_parameter_byte = 0.001;
  EXPECT_EQ(MemoryOf(problem, kOthers), 1'074);
}

TEST(StageMemoryTest, ManyCopiesDoNotOverflow) {
  PlanningProblem problem = Components(Workload::kInference, "");
  problem.memory_model.weight_versions = 2'147'483'647;
  problem.memory_model.gradient_copies = 1;
  EXPECT_EQ(MemoryOf(problem, kFirst), 214'748'364'800 + 21);
}

}  // namespace
}  // namespace planwright
