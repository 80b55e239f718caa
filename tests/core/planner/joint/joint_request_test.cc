#include "core/planner/joint/joint_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stop_token>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/base/known.h"
#include "core/base/task_arena.h"
#include "core/base/violations.h"
#include "core/joint/cost/training_cluster.h"
#include "core/joint/cost/transformer_pricer.h"
#include "core/planner/planner.h"
#include "core/verify/joint/joint_verifier.h"
#include "core/zoo/zoo.h"
#include "tests/core/planner/joint/joint_test_request.h"

namespace planwright {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A class of half the speed.
DeviceClassId AddSlowerClass(Cluster& cluster) {
  if (cluster.device_classes.back().name != "slower") {
    DeviceClass slower = cluster.class_of(DeviceId(0));
    slower.name = "slower";
    slower.peak_flops /= 2;
    cluster.device_classes.push_back(slower);
  }
  return DeviceClassId(cluster.device_classes.size() - 1);
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

// The ends of a pipeline add up gradients over the link between them, not over the slowest of the cluster.
TEST(JointRequestTest, DevicesThatAreLeftOutDoNotCountForTiedEmbeddings) {
  const absl::StatusOr<Plan> alone = Make(RequestOf("gpt-6.7b", "dgx-h100:1", 96));
  JointTestRequest request = RequestOf("gpt-6.7b", "dgx-h100:2", 96);
  request.problem.devices_to_use.max_devices = 8;
  const absl::StatusOr<Plan> limited = Make(request);
  ASSERT_TRUE(alone.ok() && limited.ok()) << limited.status();
  EXPECT_EQ(limited->objective, alone->objective);
  EXPECT_EQ(limited->lower_bound, alone->lower_bound);
  request.problem.joint->num_stages = 2;
  const absl::StatusOr<Plan> stages = Make(request);
  ASSERT_TRUE(stages.ok()) << stages.status();
  EXPECT_GT(stages->objective, alone->objective);
  JointTestRequest near = RequestOf("gpt-6.7b", "dgx-h100:1", 96);
  near.problem.joint->num_stages = 2;
  const absl::StatusOr<Plan> near_stages = Make(near);
  ASSERT_TRUE(near_stages.ok()) << near_stages.status();
  EXPECT_EQ(stages->objective, near_stages->objective);
}

TEST(JointRequestTest, AStageWithBothEndsKeepsATiedTableOnce) {
  JointTestRequest request = RequestOf("gpt-125m", "nodes:1?devices=2", 16);
  request.problem.joint->shardings = {Sharding::kNone};
  request.problem.joint->tensor_degrees = {1};
  request.problem.joint->num_stages = 1;
  const absl::StatusOr<Plan> one = Make(request);
  request.problem.joint->num_stages = 2;
  const absl::StatusOr<Plan> two = Make(request);
  ASSERT_TRUE(one.ok() && two.ok()) << one.status() << two.status();
  const JointMemory& whole = one->joint->stages.front().memory;
  const JointMemory& first = two->joint->stages.front().memory;
  const JointMemory& last = two->joint->stages.back().memory;
  const TransformerShape& shape = *request.graph.transformer;
  const int64_t table = int64_t{shape.vocabulary} * shape.hidden;
  EXPECT_EQ(whole.parameters + 2 * table, first.parameters + last.parameters);
  EXPECT_EQ(whole.gradients + 4 * table, first.gradients + last.gradients);
  EXPECT_EQ(whole.optimizer + 12 * table, first.optimizer + last.optimizer);
}

TEST(JointRequestTest, APlanReachesTheSpeedThatItStates) {
  for (const auto& [model, cluster, batch] :
       {std::tuple("gpt-13b", "dgx-a100:4", 256), std::tuple("gpt-6.7b", "dgx-a100:2", 128),
        std::tuple("llama3-8b", "dgx-h100:1", 64)}) {
    SCOPED_TRACE(model);
    JointTestRequest request = RequestOf(model, cluster, batch);
    const absl::StatusOr<Plan> fastest = Make(request);
    ASSERT_TRUE(fastest.ok()) << fastest.status();
    request.problem.objective = Objective::kMinDevices;
    request.problem.joint->target_tokens_per_second = fastest->joint->tokens_per_second;
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_GE(plan->joint->tokens_per_second, fastest->joint->tokens_per_second);
  }
}

TEST(JointRequestTest, NoPlanMissesItsTargetByARounding) {
  JointTestRequest request = RequestOf("gpt-125m", "dgx-h100:1", 8);
  for (const int32_t devices : {1, 2, 3, 4, 6}) {
    SCOPED_TRACE(devices);
    request.problem.devices_to_use.max_devices = devices;
    request.problem.objective = Objective::kMaxThroughput;
    request.problem.joint->target_tokens_per_second.reset();
    const absl::StatusOr<Plan> some = Make(request);
    ASSERT_TRUE(some.ok()) << some.status();
    const double above = std::nextafter(some->joint->tokens_per_second, 1e300);
    request.problem.devices_to_use.max_devices.reset();
    request.problem.objective = Objective::kMinDevices;
    request.problem.joint->target_tokens_per_second = above;
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_GE(plan->joint->tokens_per_second, above);
  }
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

double StepOf(const std::string& model, const std::string& cluster) {
  const absl::StatusOr<Plan> plan = Make(RequestOf(model, cluster, 256));
  EXPECT_TRUE(plan.ok()) << plan.status();
  EXPECT_LE(RelativeGap(plan->objective, plan->lower_bound), 0.02);
  return ToMilliseconds(plan->objective);
}

TEST(JointRequestTest, StagesInRacksAreFasterThanWhereTheSlowestLinkIsAllThereIs) {
  for (const char* model : {"llama3-8b", "mixtral-8x7b"}) {
    SCOPED_TRACE(model);
    const double tree = StepOf(model, "fat-tree:2?nodes=2&racks=2&taper=3");
    const double fast = StepOf(model, "fat-tree:2?nodes=2&racks=2&taper=1");
    const double slow = StepOf(model, "nodes:8?between_gb=2.7&between_us=14");
    EXPECT_LT(tree, slow);
    EXPECT_GE(tree, fast * (1 - kJointGap));
  }
}

TEST(JointRequestTest, NodesOfOneRackAreCloserThanOthers) {
  JointTestRequest request = RequestOf("llama3-8b", "fat-tree:2?nodes=2&racks=2&taper=4", 64);
  request.problem.joint->orders = {PipelineOrder::kOneFOneB};
  const absl::StatusOr<Plan> all = Make(request);
  ASSERT_TRUE(all.ok()) << all.status();
  const auto plan_on = [&](const std::vector<std::string>& hosts) {
    request.problem.devices_to_use.hosts = hosts;
    const absl::StatusOr<Plan> plan = Make(request);
    EXPECT_TRUE(plan.ok()) << plan.status();
    EXPECT_LE(ToMilliseconds(all->objective), ToMilliseconds(plan->objective) * (1 + kJointGap));
    return ToMilliseconds(plan->objective);
  };
  const double in_rack = plan_on({"host2", "host3"});
  EXPECT_LT(in_rack, plan_on({"host3", "host4"}));
  // Nodes are missing here and there.
  plan_on({"host0", "host2", "host3", "host5", "host7"});
}

TEST(JointRequestTest, SaysWhatWouldFit) {
  const absl::StatusOr<Plan> plan = Make(RequestOf("gpt-175b", "dgx-h100:1", 64));
  ASSERT_FALSE(plan.ok());
  const std::optional<Infeasibility> infeasibility = InfeasibilityOf(plan.status());
  ASSERT_TRUE(infeasibility.has_value()) << plan.status();
  EXPECT_GT(infeasibility->minimum_devices, 8);
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("it would fit with"));
  const std::string enough = "dgx-h100:" + std::to_string((infeasibility->minimum_devices + 7) / 8);
  EXPECT_TRUE(Make(RequestOf("gpt-175b", enough, 64)).ok());
}

TEST(JointRequestTest, SaysWhichChoicesWouldFit) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 8);
  request.problem.joint->num_stages = 1;
  request.problem.joint->data_degrees = {1};
  request.problem.joint->context_degrees = {1};
  request.problem.joint->tensor_degrees = {1};
  const absl::StatusOr<Plan> whole = Make(request);
  ASSERT_TRUE(InfeasibilityOf(whole.status()).has_value()) << whole.status();
  EXPECT_THAT(std::string(whole.status().message()), HasSubstr("a tensor degree of 2"));
  request.problem.joint->tensor_degrees = {2};
  EXPECT_TRUE(Make(request).ok());
}

// 16 stages keep too much to be interleaved where a rank has all tokens of a sample.
TEST(JointRequestTest, DividesSamplesWhereThatSavesMemory) {
  JointTestRequest request = RequestOf("llama3-405b", "dgx-h100:512", 2'048);
  const absl::StatusOr<Plan> divided = Make(request);
  ASSERT_TRUE(divided.ok()) << divided.status();
  EXPECT_EQ(divided->joint->stages.front().degrees.context, 2);
  request.problem.joint->context_degrees = {1};
  const absl::StatusOr<Plan> whole = Make(request);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_LT(ToMilliseconds(divided->objective), 0.9 * ToMilliseconds(whole->objective));
  // The answer says what that is worth.
  const std::vector<ChoiceWorth>& worth = divided->joint->worth;
  const auto found = std::find_if(worth.begin(), worth.end(),
                                  [](const ChoiceWorth& each) { return each.without == "context parallelism"; });
  ASSERT_NE(found, worth.end());
  EXPECT_NEAR(ToMilliseconds(found->step.value()), ToMilliseconds(whole->objective),
              2e-3 * ToMilliseconds(whole->objective));
}

// What a limit leaves of a node has no tensor degrees, nodes have.
TEST(JointRequestTest, SaysWhatWouldFitWithoutTheLimitToDevices) {
  JointTestRequest request = RequestOf("llama3-70b", "dgx-h100:8", 512);
  request.problem.devices_to_use.max_devices = 1;
  const absl::Status status = Make(request).status();
  const std::optional<Infeasibility> infeasibility = InfeasibilityOf(status);
  ASSERT_TRUE(infeasibility.has_value()) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("fits into 1 device of 80.00 GiB; it would fit with 16 devices (2 nodes)"));
  EXPECT_EQ(infeasibility->minimum_devices, 16);
  request.problem.devices_to_use.max_devices = 16;
  EXPECT_TRUE(Make(request).ok());
}

// Whoever may do more does no worse, within the gap.
TEST(JointRequestTest, MoreChoicesAndMemoryAreNeverWorse) {
  const std::vector<std::function<void(JointTestRequest&)>> narrower = {
      [](JointTestRequest& r) { r.problem.joint->tensor_degrees = {2}; },
      [](JointTestRequest& r) { r.problem.joint->micro_batch_samples = {2}; },
      [](JointTestRequest& r) { r.problem.joint->recomputation = {LayerRecomputation::kFull}; },
      [](JointTestRequest& r) { r.problem.joint->shardings = {Sharding::kParameters}; },
      [](JointTestRequest& r) { r.problem.joint->orders = {PipelineOrder::kInterleaved}; },
      [](JointTestRequest& r) { r.problem.joint->orders = {PipelineOrder::kOneFOneB}; },
      [](JointTestRequest& r) {
        r.problem.joint->data_degrees = {2, 4};
      },
      [](JointTestRequest& r) { r.problem.joint->num_stages = 2; },
      [](JointTestRequest& r) { r.problem.memory_model.reserved_bytes = int64_t{20} << 30; },
  };
  for (const char* model : {"llama3-8b", "mixtral-8x7b"}) {
    const absl::StatusOr<Plan> all = Make(RequestOf(model, "dgx-h100:4", 96));
    ASSERT_TRUE(all.ok()) << all.status();
    for (std::size_t i = 0; i < narrower.size(); ++i) {
      JointTestRequest request = RequestOf(model, "dgx-h100:4", 96);
      narrower[i](request);
      const absl::StatusOr<Plan> plan = Make(request);
      if (!plan.ok()) continue;
      EXPECT_LE(ToMilliseconds(all->objective), ToMilliseconds(plan->objective) * (1 + kJointGap)) << model << i;
      EXPECT_LE(all->lower_bound, plan->objective) << model << i;
    }
  }
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

TEST(JointRequestTest, NeedsBackwardPassesAndABatch) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 0);
  request.graph.transformer.reset();
  for (Operator& op : request.graph.operators) {
    op.backward_flops = 0;
    op.backward_bytes_accessed = 0;
    op.costs.clear();
  }
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(PathsOf(plan.status()), Contains("graph.operators"));
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
      [](Plan& plan) { plan.devices[0].load += Picoseconds(1); },
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

TEST(JointRequestTest, WhatWasPlannedIsJudgedAsItWasPlanned) {
  for (const char* cluster : {"dgx-h100:2", "h100-and-a100"}) {
    SCOPED_TRACE(cluster);
    JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:2", 64);
    if (cluster == std::string("h100-and-a100")) {
      for (std::size_t d = 8; d < 16; ++d) request.cluster.devices[d].device_class = AddSlowerClass(request.cluster);
    }
    const absl::StatusOr<Plan> made = Make(request);
    ASSERT_TRUE(made.ok()) << made.status();
    const absl::StatusOr<Verdict> verdict = Judge(request, PlacementOf(*made));
    ASSERT_TRUE(verdict.ok()) << verdict.status();
    EXPECT_TRUE(verdict->violations.empty()) << verdict->violations.ToStatus();
    ASSERT_TRUE(verdict->costed.has_value());
    EXPECT_EQ(verdict->costed->objective, made->objective);
    EXPECT_EQ(verdict->costed->joint->simulated_step, made->joint->simulated_step);
    EXPECT_EQ(verdict->costed->estimate.peak_memory_bytes, made->estimate.peak_memory_bytes);
    EXPECT_NEAR(verdict->costed->joint->peak_share, made->joint->peak_share, 1e-12);
  }
}

TEST(JointRequestTest, JudgesWhatAPersonWouldRun) {
  const JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:2", 64);
  const absl::StatusOr<Plan> made = Make(request);
  ASSERT_TRUE(made.ok()) << made.status();
  // Everything is computed again, out of habit.
  Placement mine = PlacementOf(*made);
  const int32_t head = request.graph.transformer->layers + 1;
  for (JointStage& stage : mine.joint->stages) {
    for (JointChunk& chunk : stage.chunks) {
      for (int32_t layer = std::max(1, chunk.first_layer); layer < std::min(head, chunk.end_layer()); ++layer) {
        chunk.recomputation[static_cast<std::size_t>(layer - chunk.first_layer)] = LayerRecomputation::kFull;
      }
    }
  }
  const absl::StatusOr<Verdict> verdict = Judge(request, mine);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  ASSERT_TRUE(verdict->costed.has_value()) << verdict->violations.ToStatus();
  EXPECT_TRUE(verdict->violations.empty()) << verdict->violations.ToStatus();
  EXPECT_GT(ToMilliseconds(verdict->costed->objective), 1.2 * ToMilliseconds(made->lower_bound));
  EXPECT_LT(verdict->costed->estimate.peak_memory_bytes, made->estimate.peak_memory_bytes);
  mine.joint->micro_batches += 1;
  EXPECT_THAT(PathsOf(Judge(request, mine)->violations.ToStatus()), Contains("plan.joint.micro_batches"));
  mine.joint.reset();
  EXPECT_THAT(PathsOf(Judge(request, mine)->violations.ToStatus()), Contains("plan.joint"));
}

TEST(JointRequestTest, BlocksAreOfOneClass) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:4", 64);
  const DeviceClassId slower = AddSlowerClass(request.cluster);
  for (std::size_t d = 16; d < 32; ++d) request.cluster.devices[d].device_class = slower;
  request.problem.joint->num_stages = 2;
  request.problem.joint->data_degrees = {16};
  request.problem.joint->tensor_degrees = {1};
  request.problem.joint->orders = {PipelineOrder::kOneFOneB};
  const absl::StatusOr<Plan> made = Make(request);
  ASSERT_TRUE(made.ok()) << made.status();
  Placement placement = PlacementOf(*made);
  ASSERT_TRUE(Judge(request, placement)->violations.empty());
  // Whole nodes change places.
  std::vector<DeviceId>& first = placement.stages[0].devices;
  std::vector<DeviceId>& last = placement.stages[1].devices;
  std::swap_ranges(first.begin(), first.begin() + 8, last.begin());
  EXPECT_THAT(PathsOf(Judge(request, placement)->violations.ToStatus()), Contains("plan.stages[0].replicas"));
}

TEST(JointRequestTest, FindsTheFewestDevicesThatHoldAModel) {
  JointTestRequest request = RequestOf("llama3-70b", "dgx-h100:8", 512);
  request.problem.objective = Objective::kMinDevices;
  const absl::StatusOr<Plan> fewest = Make(request);
  ASSERT_TRUE(fewest.ok()) << fewest.status();
  const int64_t allowed = fewest->provenance.counters.at("devices_allowed");
  EXPECT_EQ(fewest->provenance.counters.at("devices_needed"), allowed);
  EXPECT_TRUE(fewest->warnings.empty());
  // One less holds nothing, and says how many nodes would.
  request.problem.objective = Objective::kMaxThroughput;
  request.problem.devices_to_use.max_devices = static_cast<int32_t>(allowed) - 1;
  ASSERT_GT(allowed, 8);
  const std::optional<Infeasibility> infeasibility = InfeasibilityOf(Make(request).status());
  ASSERT_TRUE(infeasibility.has_value());
  EXPECT_GE(infeasibility->minimum_devices, allowed);
  EXPECT_LT(infeasibility->minimum_devices, allowed + 8);
}

TEST(JointRequestTest, FindsTheFewestDevicesThatAreFastEnough) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:8", 512);
  request.problem.joint->orders = {PipelineOrder::kOneFOneB};
  const absl::StatusOr<Plan> all = Make(request);
  ASSERT_TRUE(all.ok()) << all.status();
  request.problem.objective = Objective::kMinDevices;
  const double target = all->joint->tokens_per_second * 0.45;
  request.problem.joint->target_tokens_per_second = target;
  const absl::StatusOr<Plan> fewest = Make(request);
  ASSERT_TRUE(fewest.ok()) << fewest.status();
  EXPECT_GE(fewest->joint->tokens_per_second, target);
  const int64_t allowed = fewest->provenance.counters.at("devices_allowed");
  EXPECT_EQ(fewest->provenance.counters.at("devices_needed"), allowed);
  EXPECT_LT(allowed, 64);
  request.problem.objective = Objective::kMaxThroughput;
  request.problem.joint->target_tokens_per_second.reset();
  request.problem.devices_to_use.max_devices = static_cast<int32_t>(allowed) - 1;
  const absl::StatusOr<Plan> fewer = Make(request);
  ASSERT_TRUE(fewer.ok()) << fewer.status();
  EXPECT_LT(fewer->joint->tokens_per_second, target);
}

TEST(JointRequestTest, AWideGapProvesNoMoreDevices) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:2", 512);
  request.problem.objective = Objective::kMinDevices;
  request.problem.joint->target_tokens_per_second = 60'000;
  const absl::StatusOr<Plan> exact = Make(request);
  ASSERT_TRUE(exact.ok()) << exact.status();
  for (const double gap : {0.02, 0.3}) {
    request.options.relative_gap = gap;
    const absl::StatusOr<Plan> wide = Make(request);
    ASSERT_TRUE(wide.ok()) << wide.status();
    EXPECT_GE(wide->joint->tokens_per_second, 60'000);
    EXPECT_LE(wide->provenance.counters.at("devices_needed"), exact->provenance.counters.at("devices_allowed"));
  }
}

TEST(JointRequestTest, TakesNodesOfOneRackWhereFewDo) {
  JointTestRequest request = RequestOf("llama3-8b", "fat-tree:2?nodes=2&racks=2&taper=8", 64);
  request.problem.joint->orders = {PipelineOrder::kOneFOneB};
  request.problem.joint->num_stages = 1;
  request.problem.devices_to_use.hosts = {"host2", "host3"};
  const absl::StatusOr<Plan> rack = Make(request);
  ASSERT_TRUE(rack.ok()) << rack.status();
  // The first two of these are in two racks.
  request.problem.devices_to_use.hosts = {"host1", "host2", "host3"};
  request.problem.devices_to_use.max_devices = 16;
  const absl::StatusOr<Plan> chosen = Make(request);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->objective, rack->objective);
  EXPECT_LE(chosen->lower_bound, rack->objective);
  request.problem.devices_to_use.max_devices.reset();
  request.problem.objective = Objective::kMinDevices;
  request.problem.joint->target_tokens_per_second = 0.999 * rack->joint->tokens_per_second;
  const absl::StatusOr<Plan> fewest = Make(request);
  ASSERT_TRUE(fewest.ok()) << fewest.status();
  EXPECT_LE(fewest->provenance.counters.at("devices_allowed"), 16);
}

TEST(JointRequestTest, SaysWhichChoicesDoNotGoTogether) {
  const auto why = [](const std::function<void(JointSettings&)>& choose) {
    JointTestRequest request = RequestOf("llama3-70b", "dgx-h100:8", 512);
    choose(*request.problem.joint);
    return std::string(Make(request).status().message());
  };
  EXPECT_THAT(why([](JointSettings& joint) { joint.num_stages = 100; }), HasSubstr("100 stages are asked for"));
  EXPECT_THAT(why([](JointSettings& joint) { joint.num_stages = 65; }), HasSubstr("take 65 devices, and there are 64"));
  EXPECT_THAT(why([](JointSettings& joint) { joint.data_degrees = {7}; }), HasSubstr("global batch of 512"));
}

// No memory helps where numbers do not divide; before, the answer spoke of memory.
TEST(JointRequestTest, SaysWhichScheduleAndExpertsDoNotDivide) {
  const auto why = [](const char* model, const std::function<void(JointSettings&)>& choose) {
    JointTestRequest request = RequestOf(model, "dgx-h100:8", 512);
    choose(*request.problem.joint);
    const absl::Status status = Make(request).status();
    EXPECT_TRUE(InfeasibilityOf(status).has_value()) << status;
    return std::string(status.message());
  };
  const auto interleaved = [](int32_t stages, std::optional<int64_t> micro_batches) {
    return [=](JointSettings& joint) {
      joint.orders = {PipelineOrder::kInterleaved};
      joint.num_stages = stages;
      joint.micro_batches = micro_batches;
    };
  };
  EXPECT_THAT(why("llama3-70b", interleaved(3, std::nullopt)),
              HasSubstr("makes the global batch of 512 in 3 stages so"));
  EXPECT_THAT(why("llama3-70b", interleaved(4, 2)),
              HasSubstr("makes the global batch of 512 in 4 stages with 2 micro-batches so"));
  EXPECT_THAT(why("llama3-70b", interleaved(64, 64)), HasSubstr("INTERLEAVED needs two stages or more, two layers"));
  EXPECT_THAT(why("llama3-70b",
                  [](JointSettings& joint) {
                    joint.orders = {PipelineOrder::kZeroBubble};
                    joint.num_stages = 4;
                    joint.micro_batches = 2;
                  }),
              HasSubstr("ZERO_BUBBLE_H1 needs at least as many micro-batches as stages"));
  EXPECT_THAT(why("mixtral-8x7b",
                  [](JointSettings& joint) {
                    joint.expert_degrees = {8};
                    joint.context_degrees = {1};
                    joint.data_degrees = {4};
                  }),
              HasSubstr("no expert degree that may be chosen (8) divides"));
  EXPECT_THAT(why("llama3-70b",
                  [](JointSettings& joint) {
                    joint.num_stages = 5;
                    joint.data_degrees = {4};
                    joint.tensor_degrees = {4};
                  }),
              HasSubstr("5 stages of at least 16 devices (tensor 4 x data 4) take 80 devices, and there are 64"));
  EXPECT_THAT(
      why("mixtral-8x7b",
          [](JointSettings& joint) {
            joint.num_stages = 2;
            joint.expert_degrees = {8};
            joint.context_degrees = {1};
            joint.tensor_degrees = {8};
          }),
      HasSubstr("2 stages of at least 64 devices (tensor 8 x data 8, since expert ranks, 8 here, are taken from "
                "those of data and context, never from those of tensors) take 128 devices, and there are 64"));
}

// Attention that keeps no scores has nothing selective to compute again.
TEST(JointRequestTest, BaselinesAndEqualStagesRunInModesThatMayBeChosen) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 64);
  request.problem.joint->recomputation = {LayerRecomputation::kSelective, LayerRecomputation::kFull};
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->baselines, Not(IsEmpty()));
  for (const Baseline& baseline : plan->baselines) {
    if (!baseline.admissible) continue;
    EXPECT_GE(Known(baseline.objective), plan->lower_bound) << baseline.algorithm;
  }
  EXPECT_THAT(plan->joint->uniform_configurations, Not(IsEmpty()));
  for (const JointConfiguration& equal : plan->joint->uniform_configurations) {
    EXPECT_EQ(equal.recomputation, LayerRecomputation::kFull);
  }
  request.problem.joint->recomputation = {LayerRecomputation::kSelective};
  const absl::StatusOr<Plan> selective = Make(request);
  ASSERT_TRUE(selective.ok()) << selective.status();
  EXPECT_THAT(selective->warnings, Contains(HasSubstr("SELECTIVE")));
}

TEST(JointRequestTest, SaysWhichBlocksDoNotLieInNodes) {
  JointTestRequest request = RequestOf("llama3-70b", "dgx-h100:3", 510);
  request.problem.joint->num_stages = 2;
  request.problem.joint->data_degrees = {3};
  request.problem.joint->tensor_degrees = {4};
  EXPECT_THAT(
      std::string(Make(request).status().message()),
      HasSubstr(
          "2 stages of at least 12 devices (tensor 4 x data 3) do not lie in whole nodes, or inside one, of these 24"));
}

TEST(JointRequestTest, OneStageOrDeviceIsSingular) {
  JointTestRequest request = RequestOf("gpt-350m", "nodes:2?devices=3", 8);
  const DeviceClassId slower = AddSlowerClass(request.cluster);
  for (std::size_t d = 3; d < 6; ++d) request.cluster.devices[d].device_class = slower;
  request.problem.joint->num_stages = 1;
  request.problem.joint->data_degrees = {2};
  request.problem.joint->tensor_degrees = {2};
  EXPECT_THAT(std::string(Make(request).status().message()),
              HasSubstr("1 stage of at least 4 devices (tensor 2 x data 2) does not lie in whole nodes"));
}

// The last `nodes` nodes of eight are of a class of half the speed.
void SlowLastNodes(int64_t nodes, JointTestRequest& request) {
  const DeviceClassId slower = AddSlowerClass(request.cluster);
  const std::size_t all = request.cluster.devices.size();
  for (std::size_t d = all - static_cast<std::size_t>(nodes) * 8; d < all; ++d) {
    request.cluster.devices[d].device_class = slower;
  }
}

// The part of a cluster of 8 nodes that has so many of each half.
void UseNodes(int64_t fast, int64_t slow, JointTestRequest& request) {
  request.problem.devices_to_use.devices.clear();
  const std::size_t half = request.cluster.devices.size() / 2;
  for (std::size_t d = 0; d < half; ++d) {
    const auto node = static_cast<int64_t>(d / 8);
    if (node < fast) request.problem.devices_to_use.devices.emplace_back(d);
    if (node < slow) request.problem.devices_to_use.devices.emplace_back(half + d);
  }
}

TEST(JointRequestTest, SaysWhichClassWouldFit) {
  JointTestRequest request = RequestOf("gpt-175b", "dgx-h100:2", 64);
  SlowLastNodes(1, request);
  const std::string message(Make(request).status().message());
  EXPECT_THAT(message, HasSubstr("8 devices of h100-sxm5-80gb with 80.00 GiB and 8 devices of slower with 80.00 GiB"));
  EXPECT_THAT(message, HasSubstr("nodes) of h100-sxm5-80gb alone"));
}

TEST(JointRequestTest, FindsTheFewestDevicesOfTwoClasses) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:8", 256);
  SlowLastNodes(4, request);
  request.problem.joint->orders = {PipelineOrder::kOneFOneB};
  const absl::StatusOr<Plan> all = Make(request);
  ASSERT_TRUE(all.ok()) << all.status();
  // The fast half alone is too slow, and not all of the slow one is needed.
  for (const double share : {0.3, 0.75, 0.85}) {
    SCOPED_TRACE(share);
    request.problem.objective = Objective::kMinDevices;
    request.problem.devices_to_use.devices.clear();
    const double target = all->joint->tokens_per_second * share;
    request.problem.joint->target_tokens_per_second = target;
    const absl::StatusOr<Plan> fewest = Make(request);
    ASSERT_TRUE(fewest.ok()) << fewest.status();
    EXPECT_GE(fewest->joint->tokens_per_second, target);
    const int64_t allowed = fewest->provenance.counters.at("devices_allowed");
    EXPECT_EQ(fewest->provenance.counters.at("devices_needed"), allowed);
    // No mix of nodes with fewer devices does.
    request.problem.objective = Objective::kMaxThroughput;
    request.problem.joint->target_tokens_per_second.reset();
    int64_t least = 64;
    for (int64_t fast = 0; fast <= 4; ++fast) {
      for (int64_t slow = 0; slow <= 4; ++slow) {
        if (fast + slow == 0 || 8 * (fast + slow) >= least) continue;
        UseNodes(fast, slow, request);
        const absl::StatusOr<Plan> plan = Make(request);
        if (plan.ok() && plan->joint->tokens_per_second >= target) least = 8 * (fast + slow);
      }
    }
    // Each class may have part of a node less.
    EXPECT_LE(allowed, least);
    EXPECT_GT(allowed, least - 16);
  }
}

// Half a node of faster devices is no rest of the slower ones.
TEST(JointRequestTest, OneFasterDeviceBesideANodeOfSlowerOnesIsEnough) {
  JointTestRequest request = RequestOf("gpt-1.3b", "dgx-h100:2", 64);
  const DeviceClassId slower = AddSlowerClass(request.cluster);
  for (std::size_t d = 0; d < 8; ++d) request.cluster.devices[d].device_class = slower;
  request.problem.joint->orders = {PipelineOrder::kOneFOneB};
  request.problem.devices_to_use.devices = {DeviceId(8)};
  const absl::StatusOr<Plan> one = Make(request);
  ASSERT_TRUE(one.ok()) << one.status();
  request.problem.devices_to_use.devices.clear();
  for (std::size_t d = 0; d < 12; ++d) request.problem.devices_to_use.devices.emplace_back(d);
  request.problem.objective = Objective::kMinDevices;
  request.problem.joint->target_tokens_per_second = 0.95 * one->joint->tokens_per_second;
  const absl::StatusOr<Plan> fewest = Make(request);
  ASSERT_TRUE(fewest.ok()) << fewest.status();
  EXPECT_EQ(fewest->provenance.counters.at("devices_allowed"), 1);
  EXPECT_GE(fewest->stages.front().replicas.front().device, DeviceId(8));
}

TEST(JointRequestTest, BaselinesSayTheDevicesOfOneClassThatTheyUse) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:4", 64);
  SlowLastNodes(2, request);
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->baselines,
              Contains(AllOf(Field(&Baseline::algorithm, "data_parallel"),
                             Field(&Baseline::reason, "on 16 of 32 devices"), Field(&Baseline::admissible, true))));
  const JointConfiguration& equal = plan->joint->uniform_configurations.front();
  const int64_t used = equal.num_stages * equal.degrees.devices();
  EXPECT_THAT(plan->baselines,
              Contains(AllOf(Field(&Baseline::algorithm, "equal_stages"),
                             Field(&Baseline::reason, used == 32 ? "" : absl::StrCat("on ", used, " of 32 devices")))));
}

TEST(JointRequestTest, SaysWhereATargetIsOutOfReach) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 64);
  request.problem.objective = Objective::kMinDevices;
  request.problem.joint->orders = {PipelineOrder::kOneFOneB};
  request.problem.joint->target_tokens_per_second = 1e12;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(InfeasibilityOf(plan.status()).has_value()) << plan.status();
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("tokens/s"));
  request.problem.joint->target_tokens_per_second = 0;
  request.problem.target_period = Picoseconds(5);
  const std::vector<std::string> paths = PathsOf(Make(request).status());
  EXPECT_THAT(paths, Contains("problem.joint.target_tokens_per_second"));
  EXPECT_THAT(paths, Contains("problem.target_period_ms"));
}

// What is printed of a plan's speed, a whole number below it, is reached on the same devices; what is above it by less
// than the gap is neither reached nor refuted, and no time is asked for.
TEST(JointRequestTest, ATargetWithinTheGapOfThePlanSaysSo) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 64);
  request.problem.joint->orders = {PipelineOrder::kOneFOneB};
  const absl::StatusOr<Plan> all = Make(request);
  ASSERT_TRUE(all.ok()) << all.status();
  request.problem.objective = Objective::kMinDevices;
  request.problem.joint->target_tokens_per_second = std::floor(all->joint->tokens_per_second);
  const absl::StatusOr<Plan> same = Make(request);
  ASSERT_TRUE(same.ok()) << same.status();
  request.problem.joint->target_tokens_per_second = all->joint->tokens_per_second * (1 + 1e-7);
  const absl::Status open = Make(request).status();
  ASSERT_TRUE(IsNoPlanFound(open)) << open;
  EXPECT_EQ(SpentLimitOf(open), SpentLimit::kNone);
  EXPECT_THAT(std::string(open.message()), HasSubstr("open within the gap: lower it (--gap) or the target"));
}

// Stops the search at its first plan.
class ImpatientObserver : public PlannerObserver {
 public:
  explicit ImpatientObserver(std::stop_source& stop) : stop_(stop) {}
  void OnIncumbent(const Incumbent& /*incumbent*/) override { stop_.request_stop(); }

 private:
  std::stop_source& stop_;
};

// Whatever was not looked at takes as long as its work takes on all devices; before, the bound was 0.
TEST(JointRequestTest, WhatIsInterruptedHasABound) {
  struct Case {
    const char* model;
    const char* cluster;
    std::vector<PipelineOrder> orders;
  };
  for (const auto& [model, cluster, orders] :
       {Case{"llama3-70b", "dgx-h100:8", {PipelineOrder::kOneFOneB}},
        Case{"llama3-70b", "dgx-h100:8", {PipelineOrder::kOneFOneB, PipelineOrder::kInterleaved}},
        Case{"llama3-70b", "dgx-h100:8", {PipelineOrder::kGpipe}},
        Case{"llama3-70b", "dgx-h100:8", {PipelineOrder::kZeroBubble}},
        Case{"llama3-8b", "torus2d:4?memory_gib=80", {PipelineOrder::kOneFOneB}}}) {
    SCOPED_TRACE(cluster);
    JointTestRequest request = RequestOf(model, cluster, 64);
    request.problem.joint->orders = orders;
    const absl::StatusOr<Plan> whole = Make(request);
    ASSERT_TRUE(whole.ok()) << whole.status();
    std::stop_source stop;
    SolveLimits limits;
    limits.stop = stop.get_token();
    TaskArena arena(1);
    ImpatientObserver observer(stop);
    const absl::StatusOr<Plan> plan = MakePlan({request.graph, request.cluster, request.problem, request.options},
                                               ModelLimits(), limits, arena, observer);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->provenance.stop_reason, StopReason::kCancelled);
    // Not by much.
    EXPECT_GT(ToMilliseconds(plan->lower_bound), 0.5 * ToMilliseconds(whole->objective));
    EXPECT_LE(plan->lower_bound, whole->objective);
    EXPECT_GT(ToMilliseconds(plan->joint->simulated_bound), 0.5 * ToMilliseconds(whole->joint->simulated_step));
    EXPECT_LE(plan->joint->simulated_bound, whole->joint->simulated_step);
  }
}

// Neither more time nor a smaller gap is what was missing.
TEST(JointRequestTest, SearchesForFewDevicesSayWhereMemoryRanOut) {
  JointTestRequest request = RequestOf("llama3-70b", "dgx-h100:8", 64);
  request.problem.objective = Objective::kMinDevices;
  request.problem.joint->orders = {PipelineOrder::kOneFOneB};
  const auto make_within = [&](int64_t memory_bytes) {
    SolveLimits limits;
    limits.memory_bytes = memory_bytes;
    TaskArena arena(1);
    PlannerObserver nobody;
    return MakePlan({request.graph, request.cluster, request.problem, request.options}, ModelLimits(), limits, arena,
                    nobody);
  };
  // It crashed where the search for the best plan had found what the one for few devices had no memory for.
  const absl::StatusOr<Plan> any = make_within(1'000);
  ASSERT_TRUE(any.ok()) << any.status();
  EXPECT_EQ(any->provenance.stop_reason, StopReason::kMemoryLimit);
  request.problem.joint->per_stage = true;
  request.problem.joint->target_tokens_per_second = any->joint->tokens_per_second * 1.02;
  const absl::Status none = make_within(1'000).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kResourceExhausted) << none;
  EXPECT_THAT(std::string(none.message()), HasSubstr("more memory"));
}

// Rows for all cases that the search can ask for, each `factor` times what is computed.
std::vector<MeasuredLayer> RowsOf(const JointTestRequest& request, double factor) {
  std::vector<DeviceId> devices;
  devices.reserve(request.cluster.devices.size());
  for (std::size_t d = 0; d < request.cluster.devices.size(); ++d) devices.emplace_back(d);
  const TrainingCluster training = *MakeTrainingCluster(request.cluster, devices, 0);
  const TransformerPricer pricer(*request.graph.transformer, request.cluster, training.inside, training.between);
  std::vector<MeasuredLayer> rows;
  for (const int32_t tensor : {1, 2, 4, 8}) {
    for (const int64_t samples : {1, 2, 4, 8, 16}) {
      const std::vector<LayerPrice> prices = pricer.Price({.device_class = training.classes.front().device_class,
                                                           .degrees = {.tensor = tensor},
                                                           .samples = samples,
                                                           .sharding = Sharding::kOptimizer,
                                                           .devices_per_node = 8});
      const auto add = [&](const char* layer, int32_t kind) {
        const LayerPrice& price = prices[static_cast<std::size_t>(kind)];
        rows.push_back({.layer = layer,
                        .device_class = "",
                        .tensor_degree = tensor,
                        .samples = samples,
                        .forward_ms = ToMilliseconds(Picoseconds(price.forward_ps)) * factor,
                        .backward_ms = ToMilliseconds(Picoseconds(price.backward_ps)) * factor,
                        .activation_bytes = std::nullopt});
      };
      add("embedding", pricer.kinds().front());
      add("layer", pricer.kinds()[1]);
      add("head", pricer.kinds().back());
    }
  }
  return rows;
}

TEST(JointRequestTest, MeasuredTimesWinOverComputedOnes) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 64);
  request.problem.joint->shardings = {Sharding::kOptimizer};
  const absl::StatusOr<Plan> computed = Make(request);
  ASSERT_TRUE(computed.ok()) << computed.status();
  request.graph.transformer->measured_layers = RowsOf(request, 1);
  const absl::StatusOr<Plan> same = Make(request);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->objective, computed->objective);
  int32_t measured = 0;
  for (const JointStage& stage : same->joint->stages) measured += stage.measured_layers;
  EXPECT_EQ(measured, request.graph.transformer->layers + 2);
  request.graph.transformer->measured_layers = RowsOf(request, 2);
  const absl::StatusOr<Plan> slower = Make(request);
  ASSERT_TRUE(slower.ok()) << slower.status();
  EXPECT_GT(ToMilliseconds(slower->objective), 1.5 * ToMilliseconds(computed->objective));
  EXPECT_LT(ToMilliseconds(slower->objective), 2.0 * ToMilliseconds(computed->objective));
  // A slow layer of its own is a kind of its own.
  request.graph.transformer->measured_layers = RowsOf(request, 1);
  for (MeasuredLayer row : RowsOf(request, 5)) {
    if (row.layer != "layer") continue;
    row.layer = "layer.7";
    request.graph.transformer->measured_layers.push_back(row);
  }
  const absl::StatusOr<Plan> uneven = Make(request);
  ASSERT_TRUE(uneven.ok()) << uneven.status();
  EXPECT_GT(uneven->objective, computed->objective);
  EXPECT_LT(uneven->objective, slower->objective);
}

TEST(JointRequestTest, WarnsOfRowsThatDoNotCountOrCannotBe) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 64);
  const auto is_unused = Contains(HasSubstr("no layer of the plan was measured"));
  const auto is_too_fast = Contains(HasSubstr("more than their peak"));
  request.graph.transformer->measured_layers = RowsOf(request, 1);
  EXPECT_THAT(Make(request)->warnings, AllOf(Not(is_unused), Not(is_too_fast)));
  // As if seconds were milliseconds.
  request.graph.transformer->measured_layers = RowsOf(request, 1e-3);
  EXPECT_THAT(Make(request)->warnings, is_too_fast);
  MeasuredLayer row;
  row.layer = "layer";
  row.tensor_degree = 3;
  request.graph.transformer->measured_layers = {row};
  EXPECT_THAT(Make(request)->warnings, is_unused);
}

TEST(JointRequestTest, WarnsOfWorkThatIsNotCounted) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 64);
  request.problem.joint->num_stages = 1;
  EXPECT_THAT(Make(request)->warnings, Not(Contains(HasSubstr("options.work_limit"))));
  request.options.work_limit = 1'000;
  EXPECT_THAT(Make(request)->warnings, Contains(HasSubstr("options.work_limit (--work_limit) does not count")));
}

TEST(JointRequestTest, RefusesRowsThatSayNothing) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 64);
  MeasuredLayer row;
  row.layer = "layer.32";
  request.graph.transformer->measured_layers.push_back(row);
  row = {.layer = "layer",
         .device_class = "tpu",
         .tensor_degree = 0,
         .samples = 0,
         .forward_ms = -1,
         .backward_ms = 1e7,
         .activation_bytes = std::nullopt};
  request.graph.transformer->measured_layers.push_back(row);
  row = {};
  row.layer = "head";
  row.activation_bytes = -1;
  request.graph.transformer->measured_layers.push_back(row);
  row.activation_bytes.reset();
  request.graph.transformer->measured_layers.push_back(row);
  const std::vector<std::string> paths = PathsOf(Make(request).status());
  for (const char* path : {"[0].layer", "[1].tensor_degree", "[1].samples", "[1].forward_ms", "[1].backward_ms",
                           "[2].activation_bytes", "[3]"}) {
    EXPECT_THAT(paths, Contains(absl::StrCat("graph.transformer.measured_layers", path)));
  }
  row.device_class = "tpu";
  request.graph.transformer->measured_layers = {row};
  EXPECT_THAT(PathsOf(Make(request).status()), Contains("graph.transformer.measured_layers[0].device_class"));
}

}  // namespace
}  // namespace planwright
