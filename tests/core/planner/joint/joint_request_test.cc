#include "core/planner/joint/joint_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/base/task_arena.h"
#include "core/base/violations.h"
#include "core/joint/cost/training_cluster.h"
#include "core/joint/cost/transformer_pricer.h"
#include "core/planner/planner.h"
#include "core/verify/joint/joint_verifier.h"
#include "core/zoo/zoo.h"

namespace planwright {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

struct JointTestRequest {
  OperatorGraph graph;
  Cluster cluster;
  PlanningProblem problem;
  SolverOptions options;
};

JointTestRequest RequestOf(const std::string& model, const std::string& cluster, int64_t global_batch) {
  JointTestRequest request{*MakeZooModel(model), *MakeZooCluster(cluster), {}, {}};
  request.graph.transformer = TransformerShapeOf(model);
  request.problem.joint.emplace().global_batch = global_batch;
  return request;
}

absl::StatusOr<Plan> Make(const JointTestRequest& request) {
  TaskArena arena(2);
  PlannerObserver observer;
  return MakePlan({request.graph, request.cluster, request.problem, request.options}, ModelLimits(), SolveLimits(),
                  arena, observer);
}

std::vector<std::string> PathsOf(const absl::Status& status) {
  std::vector<std::string> paths;
  for (const Violation& violation : ViolationsOf(status)) paths.push_back(violation.path);
  return paths;
}

TEST(JointRequestTest, PlansAndProvesWhatPeopleTrain) {
  for (const char* model : {"llama3-70b", "gpt-175b"}) {
    SCOPED_TRACE(model);
    JointTestRequest request = RequestOf(model, "dgx-h100:8", 512);
    request.problem.joint->orders = {PipelineOrder::kOneFOneB};
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_LE(RelativeGap(plan->objective, plan->lower_bound), 1.01 * kJointGap);
    EXPECT_GT(plan->joint->peak_share, 0.25);
    EXPECT_LT(plan->joint->peak_share, 0.7);
    ASSERT_FALSE(plan->joint->uniform_configurations.empty());
    EXPECT_LE(plan->objective, plan->joint->uniform_configurations.front().step);
    std::size_t operators = 0;
    for (const Stage& stage : plan->stages) operators += stage.operators.size();
    EXPECT_EQ(operators, MakeZooModel(model)->operators.size());
  }
}

TEST(JointRequestTest, SpreadsByStageAreNeverWorseThanOneForAll) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:2", 64);
  request.problem.joint->orders = {PipelineOrder::kOneFOneB};
  const absl::StatusOr<Plan> uniform = Make(request);
  request.problem.joint->per_stage = true;
  const absl::StatusOr<Plan> by_stage = Make(request);
  ASSERT_TRUE(uniform.ok() && by_stage.ok());
  EXPECT_LE(by_stage->lower_bound, uniform->objective);
  EXPECT_LE(ToMilliseconds(by_stage->objective), ToMilliseconds(uniform->objective) * (1 + kJointGap));
}

TEST(JointRequestTest, MoreNodesAreNeverWorse) {
  double before = 1e30;
  for (const char* cluster : {"dgx-h100:1", "dgx-h100:2", "dgx-h100:3", "dgx-h100:4"}) {
    const absl::StatusOr<Plan> plan = Make(RequestOf("llama3-8b", cluster, 96));
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_LE(ToMilliseconds(plan->objective), before * (1 + kJointGap)) << cluster;
    before = ToMilliseconds(plan->objective);
  }
}

TEST(JointRequestTest, SaysWhatWouldFit) {
  const absl::StatusOr<Plan> plan = Make(RequestOf("gpt-175b", "dgx-h100:1", 64));
  ASSERT_FALSE(plan.ok());
  const std::optional<Infeasibility> infeasibility = InfeasibilityOf(plan.status());
  ASSERT_TRUE(infeasibility.has_value()) << plan.status();
  EXPECT_GT(infeasibility->minimum_devices, 8);
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("it would fit with"));
  const std::string enough = "dgx-h100:" + std::to_string(infeasibility->minimum_devices / 8);
  EXPECT_TRUE(Make(RequestOf("gpt-175b", enough, 64)).ok());
}

TEST(JointRequestTest, RefusesWhatContradictsOrDoesNotDivide) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 64);
  request.problem.joint->tensor_degrees = {3, 2, 2};
  request.problem.joint->data_degrees = {7};
  request.problem.joint->expert_degrees = {2};
  request.problem.joint->micro_batch_samples = {0};
  request.problem.replication = Replication::kPerStage;
  request.problem.split = Split::kNonContiguous;
  request.options.algorithm = Algorithm::kGreedy;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  const std::vector<std::string> paths = PathsOf(plan.status());
  for (const char* path :
       {"problem.joint.tensor_degrees[0]", "problem.joint.tensor_degrees[2]", "problem.joint.data_degrees[0]",
        "problem.joint.expert_degrees[0]", "problem.joint.micro_batch_samples[0]", "problem.replication",
        "problem.split", "options.algorithm"}) {
    EXPECT_THAT(paths, Contains(path));
  }
}

TEST(JointRequestTest, NeedsAShapeAndABatch) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 0);
  request.graph.transformer.reset();
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(PathsOf(plan.status()), Contains("problem.joint"));
  EXPECT_THAT(PathsOf(plan.status()), Contains("problem.joint.global_batch"));
}

TEST(JointRequestTest, TheVerifierNoticesWhatIsWrong) {
  const JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:2", 64);
  const absl::StatusOr<Plan> made = Make(request);
  ASSERT_TRUE(made.ok()) << made.status();
  const std::vector<DeviceId> devices = [&] {
    std::vector<DeviceId> all;
    for (const DeviceUsage& usage : made->devices) all.push_back(usage.device);
    return all;
  }();
  const TrainingCluster training = *MakeTrainingCluster(request.cluster, devices, 0);
  const TransformerPricer pricer(*request.graph.transformer, request.cluster, training.inside, training.between);
  const auto count = [&](const Plan& plan) {
    Violations violations;
    VerifyJointPlan(request.graph, request.cluster, pricer, plan, violations);
    return violations.count();
  };
  EXPECT_EQ(count(*made), 0U);
  const std::vector<std::function<void(Plan&)>> mutations = {
      [](Plan& plan) { plan.joint->step -= Picoseconds(1); },
      [](Plan& plan) { plan.joint->simulated_step -= Picoseconds(1); },
      [](Plan& plan) { plan.joint->stages[0].memory.activations -= 1; },
      [](Plan& plan) { plan.joint->stages[0].step_end += Picoseconds(1); },
      [](Plan& plan) { plan.joint->stages[0].in_flight += 1; },
      [](Plan& plan) { plan.joint->micro_batches += 1; },
      [](Plan& plan) { plan.joint->stages[0].degrees.data *= 2; },
      [](Plan& plan) { plan.joint->stages[0].chunks[0].recomputation.pop_back(); },
      [](Plan& plan) { plan.stages[0].operators.pop_back(); },
      [](Plan& plan) { plan.stages[0].replicas.pop_back(); },
      [](Plan& plan) { plan.stages[0].replicas[0].device = plan.stages.back().replicas.back().device; },
      [](Plan& plan) { plan.lower_bound = plan.objective + Picoseconds(1); },
      [](Plan& plan) { plan.joint->tokens_per_second *= 2; },
      [](Plan& plan) { plan.provenance.proven_optimal = !plan.provenance.proven_optimal; },
  };
  for (std::size_t i = 0; i < mutations.size(); ++i) {
    Plan plan = *made;
    mutations[i](plan);
    EXPECT_GT(count(plan), 0U) << "mutation " << i;
  }
}

}  // namespace
}  // namespace planwright
