// Correct plans pass; every mutation of one is caught where it was made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/model/problem.h"
#include "core/verify/verify.h"
#include "tests/core/verify/plan_mutations.h"
#include "tests/support/builders.h"
#include "tests/support/periodic_example.h"

namespace planwright {
namespace {

using ::testing::Contains;
using ::testing::Field;

enum class Claim { kOptimal, kGap };

struct Example {
  std::string name;
  OperatorGraph graph;
  Cluster cluster;
  Plan plan;
};

// The plan of a placement as a planner would hand it out.
Plan PlanOf(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
            const Placement& placement, Claim claim) {
  const Verdict verdict = VerifyPlacement({graph, cluster, ResolveProblem(graph, problem)}, placement);
  EXPECT_TRUE(verdict.violations.empty()) << verdict.violations.ToStatus();
  Plan plan = verdict.costed.value();
  const bool optimal = claim == Claim::kOptimal;
  plan.lower_bound = optimal ? plan.objective : plan.objective / 2;
  plan.bounds = {{plan.lower_bound / 2, "work", BoundScope::kProblem},
                 {plan.objective * 2, "stage", BoundScope::kGivenPartition},
                 {plan.lower_bound, "search", BoundScope::kProblem}};
  plan.provenance.proven_optimal = optimal;
  plan.provenance.stop_reason = optimal ? StopReason::kOptimal : StopReason::kTimeLimit;
  return plan;
}

// Training by BACKWARD operators with an orphan; host-staged; declared memory that binds; an idle device.
Example HostStagedTraining() {
  Example example{"host_staged_training", {}, MakeCluster(2, 2, 40), {}};
  OperatorGraph& graph = example.graph;
  const OperatorId a = AddOperator(graph, "a", 100, 300);
  const OperatorId b = AddOperator(graph, "b", 200, 600);
  const OperatorId c = AddOperator(graph, "c", 300, 500);
  const OperatorId backward_b = AddBackward(graph, "b'", b, 210, 600);
  const OperatorId backward_a = AddBackward(graph, "a'", a, 110, 300);
  const OperatorId orphan = AddOperator(graph, "o", 50, 90);
  graph.operators[orphan.index()].pass = Pass::kBackward;
  AddTensor(graph, a, {b, c}, 7);
  AddTensor(graph, b, {c}, 11);
  AddTensor(graph, backward_b, {backward_a}, 13);
  AddTensor(graph, orphan, {backward_a}, 17);
  for (Operator& op : graph.operators) op.memory_bytes = 10;
  example.plan =
      PlanOf(graph, example.cluster, PlanningProblem(),
             {{{{a, backward_a}, {DeviceId(0)}}, {{b, backward_b, orphan}, {DeviceId(1)}}, {{c}, {DeviceId(2)}}}},
             Claim::kOptimal);
  return example;
}

// Training by backward times; uniform, so that links have loads; memory by components; 1F1B excluded by those.
Example UniformTraining() {
  Example example{"uniform_training", {}, MakeCluster(3, 1), {}};
  OperatorGraph& graph = example.graph;
  const OperatorId a = AddOperator(graph, "a", 100, 300);
  const OperatorId b = AddOperator(graph, "b", 200, 600);
  const OperatorId c = AddOperator(graph, "c", 300, 500);
  AddTensor(graph, a, {b, c}, 7, 70);
  AddTensor(graph, b, {c}, 11, 110);
  for (Operator& op : graph.operators) {
    op.costs[0].backward = Picoseconds(2 * op.costs[0].forward.count());
    op.parameter_bytes = 1000;
    op.activation_bytes = 100;
  }
  example.cluster.interconnect = UniformInterconnect{};
  example.plan = PlanOf(graph, example.cluster, PlanningProblem(),
                        {{{{a}, {DeviceId(1)}}, {{b}, {DeviceId(0)}}, {{c}, {DeviceId(2)}}}}, Claim::kGap);
  return example;
}

// One stage only, roofline times, a schedule with micro-batches in flight.
Example SingleStageInference() {
  Example example{"single_stage_inference", {}, MakeCluster(1, 0, 1000), {}};
  example.cluster.device_classes[0].peak_flops = 1e12;
  example.graph.samples_per_micro_batch = 4;
  AddOperator(example.graph, "a", 100, 300);
  AddOperator(example.graph, "b", 0, 0);
  example.graph.operators[1].costs.clear();
  example.graph.operators[1].forward_flops = 50;
  for (Operator& op : example.graph.operators) op.memory_bytes = 10;
  PlanningProblem problem;
  problem.schedule = ScheduleKind::kOneFOneB;
  example.plan = PlanOf(example.graph, example.cluster, problem, {{{{OperatorId(0), OperatorId(1)}, {DeviceId(0)}}}},
                        Claim::kOptimal);
  return example;
}

// Two stages on one device; overlap; GPIPE.
Example SharedDevices() {
  Example example{"shared_devices", {}, MakeCluster(2, 0, 100), {}};
  OperatorGraph& graph = example.graph;
  for (const char* name : {"a", "b", "c"}) AddOperator(graph, name, 100, 300);
  AddTensor(graph, OperatorId(0), {OperatorId(1), OperatorId(2)}, 70);
  AddTensor(graph, OperatorId(1), {OperatorId(2)}, 110);
  for (Operator& op : graph.operators) {
    op.costs[0].backward = Picoseconds(150);
    op.memory_bytes = 10;
  }
  PlanningProblem problem;
  problem.split = Split::kNonContiguous;
  problem.overlap = Overlap::kFullDuplex;
  problem.schedule = ScheduleKind::kGpipe;
  example.plan =
      PlanOf(graph, example.cluster, problem,
             {{{{OperatorId(0)}, {DeviceId(0)}}, {{OperatorId(1)}, {DeviceId(1)}}, {{OperatorId(2)}, {DeviceId(0)}}}},
             Claim::kGap);
  return example;
}

// Replicas in two groups of devices.
Example ReplicasOnAHierarchy() {
  Example example{"replicas_on_a_hierarchy", {}, MakeCluster(4, 0), {}};
  OperatorGraph& graph = example.graph;
  for (const char* name : {"a", "b"}) AddOperator(graph, name, 1000, 3000);
  AddTensor(graph, OperatorId(0), {OperatorId(1)}, 0, 70);
  for (Operator& op : graph.operators) {
    op.costs[0].backward = Picoseconds(150);
    op.parameter_bytes = 1000;
  }
  example.cluster.interconnect = HierarchyInterconnect{{{2, 1e12, Picoseconds(3)}, {2, 1e11, Picoseconds(5)}}};
  PlanningProblem problem;
  problem.replication = Replication::kPerStage;
  example.plan =
      PlanOf(graph, example.cluster, problem,
             {{{{OperatorId(0)}, {DeviceId(0)}}, {{OperatorId(1)}, {DeviceId(1), DeviceId(3), DeviceId(2)}}}},
             Claim::kOptimal);
  return example;
}

// Subgraphs of both passes, one device with several, a CPU.
Example LatencyTraining() {
  Example example{"latency_training", {}, MakeCluster(2, 1, 40), {}};
  OperatorGraph& graph = example.graph;
  const OperatorId a = AddOperator(graph, "a", 100, 300);
  const OperatorId b = AddOperator(graph, "b", 200, 600);
  const OperatorId c = AddOperator(graph, "c", 300, 500);
  const OperatorId backward_b = AddBackward(graph, "b'", b, 210, 600);
  AddTensor(graph, a, {b, c}, 7);
  AddTensor(graph, b, {c}, 11);
  AddTensor(graph, c, {backward_b}, 13);
  for (Operator& op : graph.operators) op.memory_bytes = 10;
  PlanningProblem problem;
  problem.objective = Objective::kMinLatency;
  example.plan = PlanOf(
      graph, example.cluster, problem,
      {{{{a}, {DeviceId(1)}}, {{b}, {DeviceId(0)}}, {{backward_b}, {DeviceId(0)}}, {{c}, {DeviceId(2)}}}}, Claim::kGap);
  return example;
}

// A pattern, with memory that binds.
Example Periodic() {
  const PeriodicExample example;
  Cluster cluster = example.cluster;
  cluster.device_classes[0].memory_bytes = 1132;
  return {"periodic", example.graph, cluster,
          PlanOf(example.graph, cluster, example.problem, PeriodicExample::Fastest(), Claim::kOptimal)};
}

std::vector<Violation> ViolationsIn(const Example& example, const Plan& plan) {
  Violations violations;
  VerifyPlan(example.graph, example.cluster, plan, violations);
  return violations.listed();
}

class VerifyPlanTest : public ::testing::TestWithParam<Example> {};

TEST_P(VerifyPlanTest, AcceptsTheCorrectPlan) {
  Violations violations;
  VerifyPlan(GetParam().graph, GetParam().cluster, GetParam().plan, violations);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
}

TEST_P(VerifyPlanTest, CatchesEveryMutationWhereItWasMade) {
  const std::vector<PlanMutation> mutations = MutationsOf(GetParam().plan);
  EXPECT_GT(mutations.size(), 60U);
  for (const PlanMutation& mutation : mutations) {
    SCOPED_TRACE(mutation.name);
    Plan plan = GetParam().plan;
    mutation.apply(plan);
    const std::vector<Violation> violations = ViolationsIn(GetParam(), plan);
    EXPECT_FALSE(violations.empty());
    if (!mutation.expected_path.empty()) {
      EXPECT_THAT(violations, Contains(Field("path", &Violation::path, mutation.expected_path)));
    }
  }
}

TEST_P(VerifyPlanTest, ToleratesRoundingOfRates) {
  Plan plan = GetParam().plan;
  plan.estimate.micro_batches_per_second *= 1 + 1e-12;
  plan.estimate.bubble_fraction += 1e-12;
  EXPECT_TRUE(ViolationsIn(GetParam(), plan).empty());
}

TEST_P(VerifyPlanTest, DoesNotJudgeHowTheSearchWent) {
  Plan plan = GetParam().plan;
  plan.provenance.wall_time_ms = 1e9;
  plan.provenance.counters["ideals"] = -1;
  plan.provenance.incumbents.resize(3);
  plan.warnings.emplace_back("look twice");
  EXPECT_TRUE(ViolationsIn(GetParam(), plan).empty());
}

INSTANTIATE_TEST_SUITE_P(Examples, VerifyPlanTest,
                         ::testing::Values(HostStagedTraining(), UniformTraining(), SingleStageInference(),
                                           SharedDevices(), ReplicasOnAHierarchy(), LatencyTraining(), Periodic()),
                         [](const auto& example) { return example.param.name; });

TEST(VerifyPlanMessageTest, SaysBothNumbers) {
  const Example example = HostStagedTraining();
  Plan plan = example.plan;
  plan.stages[1].load += Picoseconds(1'000'000'000);
  plan.objective = Picoseconds(1);
  const std::vector<Violation> violations = ViolationsIn(example, plan);
  const std::vector<Violation> expected = {
      {"plan.stages[1].load_ms", "is stated as 1.000000508 ms, but is 0.000000508 ms"},
      {"plan.objective_ms", "is stated as 0.000000001 ms, but is 0.000000508 ms"}};
  EXPECT_EQ(violations, expected);
}

TEST(VerifyPlanMessageTest, CountsWhatItDoesNotList) {
  const Example example = SingleStageInference();
  Plan plan = example.plan;
  plan.stages[0].operators.assign(150, OperatorId(7));
  Violations violations;
  VerifyPlan(example.graph, example.cluster, plan, violations);
  EXPECT_EQ(violations.listed().size(), Violations::kMaxListed);
  EXPECT_GT(violations.unlisted_count(), 0U);
}

}  // namespace
}  // namespace planwright
