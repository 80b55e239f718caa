#include "core/model/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/small_models.h"

namespace planwright {
namespace {

using Kind = MemoryModel::Kind;

OperatorGraph TwoOperators() {
  OperatorGraph graph;
  graph.operators = {MeasuredOperator("a", 1), MeasuredOperator("b", 2)};
  return graph;
}

PlanningProblem Asking(Workload workload) {
  PlanningProblem problem;
  problem.workload = workload;
  return problem;
}

Workload ResolvedWorkload(const OperatorGraph& graph) { return ResolveProblem(graph, {}).workload; }

ResolvedMemory Resolved(const std::string& preset, Workload workload) {
  PlanningProblem problem = Asking(workload);
  problem.memory_model.preset = preset;
  return ResolveProblem(TwoOperators(), problem).memory_model;
}

TEST(ResolveWorkloadTest, IsInferenceWithoutBackwardPass) {
  EXPECT_EQ(ResolvedWorkload(TwoOperators()), Workload::kInference);
}

TEST(ResolveWorkloadTest, IsTrainingWithMeasuredBackwardTimes) {
  OperatorGraph graph = TwoOperators();
  graph.operators[1].costs[1].backward = Picoseconds(1);
  EXPECT_EQ(ResolvedWorkload(graph), Workload::kTraining);
  EXPECT_TRUE(HasBackwardTimes(graph));
  EXPECT_FALSE(HasBackwardOperators(graph));
}

TEST(ResolveWorkloadTest, IsTrainingWithNumbersForBackwardRooflines) {
  OperatorGraph graph = TwoOperators();
  graph.operators[0].backward_flops = 1;
  EXPECT_EQ(ResolvedWorkload(graph), Workload::kTraining);
  graph = TwoOperators();
  graph.operators[0].backward_bytes_accessed = 1;
  EXPECT_EQ(ResolvedWorkload(graph), Workload::kTraining);
}

TEST(ResolveWorkloadTest, IsTrainingWithBackwardOperators) {
  OperatorGraph graph = TwoOperators();
  graph.operators[1].pass = Pass::kBackward;
  EXPECT_EQ(ResolvedWorkload(graph), Workload::kTraining);
  EXPECT_TRUE(HasBackwardOperators(graph));
  EXPECT_FALSE(HasBackwardTimes(graph));
}

TEST(ResolveWorkloadTest, KeepsWhatWasAskedFor) {
  OperatorGraph graph = TwoOperators();
  graph.operators[1].pass = Pass::kBackward;
  EXPECT_EQ(ResolveProblem(graph, Asking(Workload::kInference)).workload, Workload::kInference);
  EXPECT_EQ(ResolveProblem(TwoOperators(), Asking(Workload::kTraining)).workload, Workload::kTraining);
}

TEST(ResolveMemoryTest, IsDeclaredWhereEveryOperatorDeclares) {
  OperatorGraph graph = TwoOperators();
  EXPECT_EQ(ResolveProblem(graph, {}).memory_model.kind, Kind::kComponents);
  graph.operators[0].memory_bytes = 0;
  EXPECT_EQ(ResolveProblem(graph, {}).memory_model.kind, Kind::kComponents);
  graph.operators[1].memory_bytes = 5;
  EXPECT_EQ(ResolveProblem(graph, {}).memory_model.kind, Kind::kDeclared);
}

TEST(ResolveMemoryTest, GraphInputsNeedNotDeclare) {
  OperatorGraph graph;
  graph.operators.resize(2);
  graph.operators[0].type = kInputOperatorType;
  graph.operators[1].memory_bytes = 5;
  EXPECT_EQ(ResolveProblem(graph, {}).memory_model.kind, Kind::kDeclared);
  graph.operators[0].type = "MatMul";
  EXPECT_EQ(ResolveProblem(graph, {}).memory_model.kind, Kind::kComponents);
}

TEST(ResolveMemoryTest, DroppedOperatorsNeedNotDeclare) {
  OperatorGraph graph = TwoOperators();
  graph.operators[0].memory_bytes = 5;
  graph.operators[1].pass = Pass::kBackward;
  EXPECT_EQ(ResolveProblem(graph, Asking(Workload::kInference)).memory_model.kind, Kind::kDeclared);
  EXPECT_EQ(ResolveProblem(graph, Asking(Workload::kTraining)).memory_model.kind, Kind::kComponents);
}

struct PresetCase {
  std::string preset;
  Workload workload;
  int32_t weight_versions;
  int32_t gradient_copies;
  double optimizer;
};

class PresetTest : public ::testing::TestWithParam<PresetCase> {};

TEST_P(PresetTest, BecomesFields) {
  const ResolvedMemory memory = Resolved(GetParam().preset, GetParam().workload);
  EXPECT_EQ(memory.weight_versions, GetParam().weight_versions);
  EXPECT_EQ(memory.gradient_copies, GetParam().gradient_copies);
  EXPECT_EQ(memory.optimizer_bytes_per_parameter_byte, GetParam().optimizer);
}

INSTANTIATE_TEST_SUITE_P(All, PresetTest,
                         ::testing::Values(PresetCase{"", Workload::kTraining, 1, 1, 0},
                                           PresetCase{"sgd", Workload::kTraining, 1, 1, 0},
                                           PresetCase{"adam_mixed", Workload::kTraining, 1, 1, 6},
                                           PresetCase{"madpipe", Workload::kTraining, 2, 1, 0},
                                           PresetCase{"", Workload::kInference, 1, 0, 0},
                                           PresetCase{"sgd", Workload::kInference, 1, 0, 0},
                                           PresetCase{"adam_mixed", Workload::kInference, 1, 0, 0},
                                           PresetCase{"madpipe", Workload::kInference, 1, 0, 0}));

TEST(ResolveMemoryTest, ExplicitFieldsWinOverThePreset) {
  PlanningProblem problem;
  problem.workload = Workload::kInference;
  problem.memory_model.preset = "adam_mixed";
  problem.memory_model.weight_versions = 3;
  problem.memory_model.gradient_copies = 2;
  problem.memory_model.optimizer_bytes_per_parameter_byte = 0.5;
  const ResolvedMemory memory = ResolveProblem(TwoOperators(), problem).memory_model;
  EXPECT_EQ(memory.weight_versions, 3);
  EXPECT_EQ(memory.gradient_copies, 2);
  EXPECT_EQ(memory.optimizer_bytes_per_parameter_byte, 0.5);
}

TEST(ResolveMemoryTest, TheJointSearchCountsComponentsWhateverOperatorsDeclare) {
  OperatorGraph graph = TwoOperators();
  for (Operator& op : graph.operators) op.memory_bytes = 1;
  graph.transformer = TransformerShape();
  PlanningProblem problem;
  EXPECT_EQ(ResolveProblem(graph, problem).memory_model.kind, MemoryModel::Kind::kDeclared);
  problem.joint = JointSettings();
  EXPECT_EQ(ResolveProblem(graph, problem).memory_model.kind, MemoryModel::Kind::kComponents);
}

TEST(AsPosedTest, LeavesComponentSettingsUnsetUnderDeclaredMemory) {
  OperatorGraph graph = TwoOperators();
  for (Operator& op : graph.operators) op.memory_bytes = 1;
  const MemoryModel memory = AsPosed(ResolveProblem(graph, {})).memory_model;
  EXPECT_EQ(memory.kind, MemoryModel::Kind::kDeclared);
  EXPECT_EQ(memory.weight_versions, std::nullopt);
  EXPECT_EQ(memory.gradient_copies, std::nullopt);
  EXPECT_EQ(memory.optimizer_bytes_per_parameter_byte, std::nullopt);
}

TEST(ResolveProblemTest, OneStagePerDeviceUnlessSaid) {
  EXPECT_EQ(ResolveProblem(TwoOperators(), {}).max_stages_per_device, 1);
  PlanningProblem problem;
  problem.max_stages_per_device = 4;
  EXPECT_EQ(ResolveProblem(TwoOperators(), problem).max_stages_per_device, 4);
}

TEST(ResolveProblemTest, OnlyContiguousSplitsLimitWhatADeviceHolds) {
  PlanningProblem problem;
  problem.objective = Objective::kMinLatency;
  EXPECT_EQ(ResolveProblem(TwoOperators(), problem).max_subgraphs_per_device, 1);
  EXPECT_EQ(ResolveProblem(TwoOperators(), problem).max_stages_per_device, std::nullopt);
  problem.split = Split::kNonContiguous;
  EXPECT_EQ(ResolveProblem(TwoOperators(), problem).max_subgraphs_per_device, std::nullopt);
  problem.objective = Objective::kMaxThroughput;
  EXPECT_EQ(ResolveProblem(TwoOperators(), problem).max_stages_per_device, std::nullopt);
}

TEST(ResolveProblemTest, ResolvingTwiceChangesNothing) {
  PlanningProblem problem;
  problem.workload = Workload::kTraining;
  problem.memory_model.preset = "adam_mixed";
  problem.memory_model.recomputation = MemoryModel::Recomputation::kFull;
  problem.memory_model.reserved_bytes = 7;
  problem.num_stages = 2;
  const ResolvedProblem once = ResolveProblem(TwoOperators(), problem);
  const ResolvedProblem twice = ResolveProblem(TwoOperators(), AsPosed(once));
  EXPECT_EQ(twice.workload, once.workload);
  EXPECT_EQ(twice.memory_model.kind, once.memory_model.kind);
  EXPECT_EQ(twice.memory_model.weight_versions, once.memory_model.weight_versions);
  EXPECT_EQ(twice.memory_model.gradient_copies, once.memory_model.gradient_copies);
  EXPECT_EQ(twice.memory_model.optimizer_bytes_per_parameter_byte, 6);
  EXPECT_EQ(twice.memory_model.recomputation, MemoryModel::Recomputation::kFull);
  EXPECT_EQ(twice.memory_model.reserved_bytes, 7);
  EXPECT_EQ(twice.num_stages, 2);
  EXPECT_EQ(twice.max_stages_per_device, 1);
}

TEST(ResolveSplitTest, PeriodicStagesMayShareADeviceUpToALimit) {
  PlanningProblem problem;
  problem.schedule = ScheduleKind::kPeriodic;
  EXPECT_EQ(ResolveProblem(TwoOperators(), problem).max_stages_per_device, 1);
  problem.split = Split::kNonContiguous;
  EXPECT_EQ(ResolveProblem(TwoOperators(), problem).max_stages_per_device, 4);
  problem.max_stages_per_device = 2;
  EXPECT_EQ(ResolveProblem(TwoOperators(), problem).max_stages_per_device, 2);
}

}  // namespace
}  // namespace planwright
