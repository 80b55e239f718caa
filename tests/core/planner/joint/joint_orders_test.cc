// Plans under every order, from a plan to start from, and with first layers computed again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/planner/joint/joint_request.h"
#include "tests/core/planner/joint/joint_test_request.h"

namespace planwright {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Verified on the way, and judged again.
TEST(JointOrdersTest, PlansUnderGpipeAndWithoutBubbles) {
  for (const char* model : {"llama3-8b", "deepseek-v3"}) {
    for (const PipelineOrder order : {PipelineOrder::kGpipe, PipelineOrder::kZeroBubble}) {
      SCOPED_TRACE(absl::StrCat(model, " ", static_cast<int>(order)));
      const bool is_large = model == std::string("deepseek-v3");
      JointTestRequest request = RequestOf(model, is_large ? "dgx-h100:64" : "dgx-h100:2", is_large ? 1'024 : 64);
      request.problem.joint->orders = {order};
      if (!is_large) request.problem.joint->num_stages = 4;
      const absl::StatusOr<Plan> plan = Make(request);
      ASSERT_TRUE(plan.ok()) << plan.status();
      EXPECT_EQ(plan->joint->order, order);
      EXPECT_LE(plan->joint->simulated_step, plan->objective);
      EXPECT_LE(RelativeGap(plan->objective, plan->lower_bound), 1.01 * kJointGap);
      ASSERT_FALSE(plan->joint->uniform_configurations.empty());
      EXPECT_LE(plan->objective, plan->joint->uniform_configurations.front().step);
      const absl::StatusOr<Verdict> verdict = Judge(request, PlacementOf(*plan));
      ASSERT_TRUE(verdict.ok()) << verdict.status();
      EXPECT_TRUE(verdict->violations.empty()) << verdict->violations.ToStatus();
    }
  }
}

TEST(JointOrdersTest, OrdersKeepToTheirRules) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 4);
  request.problem.joint->num_stages = 4;
  request.problem.joint->tensor_degrees = {2};
  request.problem.joint->data_degrees = {1};
  request.problem.joint->micro_batch_samples = {1};
  request.problem.joint->orders = {PipelineOrder::kZeroBubble};
  const absl::StatusOr<Plan> made = Make(request);
  ASSERT_TRUE(made.ok()) << made.status();
  Placement placement = PlacementOf(*made);
  placement.joint->micro_batch_samples = 2;
  placement.joint->micro_batches = 2;
  request.problem.joint->micro_batch_samples = {1, 2};
  EXPECT_THAT(PathsOf(Judge(request, placement)->violations.ToStatus()), Contains("plan.joint.micro_batches"));
  // Fewer micro-batches than stages: nothing is left.
  request.problem.joint->micro_batch_samples = {2};
  EXPECT_TRUE(InfeasibilityOf(Make(request).status()).has_value());
  request.problem.schedule = ScheduleKind::kChimera;
  EXPECT_THAT(PathsOf(Make(request).status()), Contains("problem.schedule"));
}

TEST(JointOrdersTest, ComputesAsManyFirstLayersAgainInEveryStage) {
  // 40 GiB are not enough for nothing, and all is more than is needed.
  JointTestRequest request = RequestOf("llama3-70b", "dgx-a100:8", 256);
  request.problem.memory_model.reserved_bytes = int64_t{30} << 30;
  request.problem.joint->orders = {PipelineOrder::kOneFOneB};
  request.problem.joint->recomputation = {LayerRecomputation::kNone, LayerRecomputation::kFull};
  const absl::StatusOr<Plan> free = Make(request);
  request.problem.joint->first_layers_alike = true;
  const absl::StatusOr<Plan> alike = Make(request);
  request.problem.joint->first_layers_alike = false;
  request.problem.joint->recomputation = {LayerRecomputation::kFull};
  const absl::StatusOr<Plan> all = Make(request);
  ASSERT_TRUE(free.ok() && alike.ok() && all.ok()) << free.status() << alike.status() << all.status();
  EXPECT_LE(free->lower_bound, alike->objective);
  EXPECT_LE(alike->objective, all->objective);
  EXPECT_LE(RelativeGap(alike->objective, alike->lower_bound), 1.01 * kJointGap);
  // What differs by stage is no such plan.
  request.problem.joint->first_layers_alike = true;
  request.problem.joint->recomputation = {LayerRecomputation::kNone, LayerRecomputation::kFull};
  Placement placement = PlacementOf(*alike);
  EXPECT_TRUE(Judge(request, placement)->violations.empty());
  std::vector<LayerRecomputation>& modes = placement.joint->stages.back().chunks.front().recomputation;
  modes.front() = modes.front() == LayerRecomputation::kFull ? LayerRecomputation::kNone : LayerRecomputation::kFull;
  EXPECT_THAT(PathsOf(Judge(request, placement)->violations.ToStatus()), testing::Not(testing::IsEmpty()));
  request.problem.joint->orders = {PipelineOrder::kGpipe};
  EXPECT_THAT(PathsOf(Make(request).status()), Contains("problem.joint.first_layers_alike"));
}

// The request, starting from `plan`; devices that its cluster does not have are gone.
JointTestRequest StartingFrom(JointTestRequest request, const Plan& plan) {
  request.problem.start_from = PlacementOf(plan);
  for (Placement::Stage& stage : request.problem.start_from->stages) {
    std::erase_if(stage.devices, [&](DeviceId device) { return device.index() >= request.cluster.devices.size(); });
    stage.ring.clear();
  }
  return request;
}

// The answer when the time is over before the search begins.
absl::StatusOr<Plan> MakeAtOnce(const JointTestRequest& request) {
  SolveLimits limits;
  limits.deadline = SolveLimits::Clock::now();
  TaskArena arena(1);
  PlannerObserver observer;
  return MakePlan({request.graph, request.cluster, request.problem, request.options}, ModelLimits(), limits, arena,
                  observer);
}

TEST(JointStartTest, IsAtLeastAsGoodAsThePlanThatItStartsFrom) {
  for (const PipelineOrder order :
       {PipelineOrder::kOneFOneB, PipelineOrder::kInterleaved, PipelineOrder::kGpipe, PipelineOrder::kZeroBubble}) {
    SCOPED_TRACE(static_cast<int>(order));
    JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:4", 96);
    request.problem.joint->orders = {order};
    request.problem.joint->num_stages = 4;
    const absl::StatusOr<Plan> before = Make(request);
    ASSERT_TRUE(before.ok()) << before.status();
    JointTestRequest again = StartingFrom(request, *before);
    // Nothing else is good enough.
    again.options.relative_gap = 0.5;
    const absl::StatusOr<Plan> after = Make(again);
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_EQ(after->provenance.counters.at("start_fits"), 2);
    EXPECT_EQ(after->objective, before->objective);
    EXPECT_TRUE(after->warnings.empty());
    EXPECT_EQ(after->joint->stages.front().degrees, before->joint->stages.front().degrees);
    // A plan is there before the search has had any time.
    const absl::StatusOr<Plan> at_once = MakeAtOnce(again);
    ASSERT_TRUE(at_once.ok()) << at_once.status();
    EXPECT_EQ(at_once->objective, before->objective);
  }
}

// 12 ranks on nodes of 8 as 8 and 4, as plans of earlier versions have them: now they are 6 and 6.
TEST(JointStartTest, LaysBlocksOutAgainThatLieUnevenlyOnTheirNodes) {
  JointTestRequest request = RequestOf("gpt-1.3b", "dgx-h100:4", 96);
  request.problem.joint->tensor_degrees = {1};
  request.problem.joint->data_degrees = {12};
  request.problem.joint->num_stages = 2;
  const absl::StatusOr<Plan> before = Make(request);
  ASSERT_TRUE(before.ok()) << before.status();
  JointTestRequest start = StartingFrom(request, *before);
  EXPECT_EQ(start.problem.start_from->stages[0].devices[6], DeviceId(8));
  for (const std::size_t first : {0, 16}) {
    std::vector<DeviceId>& devices = start.problem.start_from->stages[first / 16].devices;
    for (std::size_t rank = 0; rank < 12; ++rank) devices[rank] = DeviceId(first + rank);
  }
  for (const absl::StatusOr<Plan>& after : {Make(start), MakeAtOnce(start)}) {
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_EQ(after->provenance.counters.at("start_fits"), 2);
    EXPECT_EQ(after->objective, before->objective);
  }
}

TEST(JointStartTest, AdaptsThePlanThatItStartsFromToTheDevicesThatAreLeft) {
  const absl::StatusOr<Plan> before = Make(RequestOf("llama3-8b", "dgx-h100:4", 96));
  ASSERT_TRUE(before.ok()) << before.status();
  for (const char* cluster : {"dgx-h100:1", "dgx-h100:3", "dgx-h100:6"}) {
    SCOPED_TRACE(cluster);
    const JointTestRequest request = RequestOf("llama3-8b", cluster, 96);
    const absl::StatusOr<Plan> fresh = Make(request);
    const absl::StatusOr<Plan> after = Make(StartingFrom(request, *before));
    ASSERT_TRUE(fresh.ok() && after.ok()) << after.status();
    EXPECT_GE(after->provenance.counters.at("start_fits"), 1);
    EXPECT_LE(ToMilliseconds(after->objective), ToMilliseconds(fresh->objective) * (1 + kJointGap));
    // Its choices are good ones: near the best before anything is searched.
    JointTestRequest lazy = StartingFrom(request, *before);
    lazy.options.relative_gap = 0.5;
    EXPECT_LE(ToMilliseconds(Make(lazy)->objective), 1.5 * ToMilliseconds(fresh->objective));
  }
  // Another batch, and choices that may not be taken any more.
  JointTestRequest other = StartingFrom(RequestOf("llama3-8b", "dgx-h100:4", 32), *before);
  const absl::StatusOr<Plan> smaller = Make(other);
  ASSERT_TRUE(smaller.ok()) << smaller.status();
  other.problem.joint->shardings = {Sharding::kNone};
  const absl::StatusOr<Plan> unsharded = Make(other);
  ASSERT_TRUE(unsharded.ok()) << unsharded.status();
  EXPECT_EQ(unsharded->provenance.counters.at("start_fits"), 0);
  EXPECT_THAT(unsharded->warnings, Contains(HasSubstr("nothing of problem.start_from fits")));
}

// Plans for 16,000 devices looked at each number of them without a look at the clock.
TEST(JointStartTest, WhatFitsAsItIsStandsAndNoOtherIsSoughtWhenTheTimeIsOver) {
  const JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:4", 96);
  const absl::StatusOr<Plan> before = Make(request);
  ASSERT_TRUE(before.ok()) << before.status();
  const absl::StatusOr<Plan> as_given = MakeAtOnce(StartingFrom(request, *before));
  ASSERT_TRUE(as_given.ok()) << as_given.status();
  EXPECT_EQ(as_given->provenance.counters.at("start_fits"), 2);
  EXPECT_EQ(as_given->objective, before->objective);
  EXPECT_FALSE(MakeAtOnce(StartingFrom(RequestOf("llama3-8b", "dgx-h100:2000", 93), *before)).ok());
}

// Stages moved to the first devices of nodes put other boundaries between the nodes.
TEST(JointStartTest, IsNoLongerThanAPlanWhereItsStagesLie) {
  JointTestRequest request = RequestOf("gpt-350m", "dgx-h100:2?between_gb=1", 32);
  request.problem.joint->orders = {PipelineOrder::kOneFOneB};
  request.problem.joint->num_stages = 3;
  request.problem.joint->data_degrees = {4};
  request.problem.joint->tensor_degrees = {1};
  const absl::StatusOr<Plan> made = Make(request);
  ASSERT_TRUE(made.ok()) << made.status();
  JointTestRequest again = StartingFrom(request, *made);
  const std::vector<std::vector<std::size_t>> layouts = {{0, 4, 8}, {4, 8, 12}, {12, 8, 4}, {8, 4, 0}};
  for (const std::vector<std::size_t>& first_devices : layouts) {
    SCOPED_TRACE(first_devices.front());
    Placement& start = *again.problem.start_from;
    for (std::size_t s = 0; s < first_devices.size(); ++s) {
      start.stages[s].devices.clear();
      for (std::size_t rank = 0; rank < 4; ++rank) start.stages[s].devices.emplace_back(first_devices[s] + rank);
    }
    const absl::StatusOr<Verdict> verdict = Judge(request, start);
    ASSERT_TRUE(verdict.ok() && verdict->violations.empty()) << verdict.status();
    const absl::StatusOr<Plan> at_once = MakeAtOnce(again);
    ASSERT_TRUE(at_once.ok()) << at_once.status();
    EXPECT_LE(at_once->objective, verdict->costed->objective);
    EXPECT_EQ(at_once->provenance.counters.at("start_fits"), 2);
  }
}

// In one order of the classes the start fits, in the other one its choices are faster on one of them.
TEST(JointStartTest, FitsAsItIsWhateverAdaptedPlansOnOtherOrdersOfTheClassesTake) {
  JointTestRequest request = RequestOf("gpt-350m", "dgx-h100:2", 16);
  DeviceClass slower = request.cluster.device_classes.front();
  slower.name = "slower";
  slower.peak_flops /= 20;
  slower.memory_bandwidth_bytes_per_second /= 20;
  request.cluster.device_classes.push_back(slower);
  for (std::size_t device = 8; device < 16; ++device) {
    request.cluster.devices[device].device_class = DeviceClassId(request.cluster.device_classes.size() - 1);
  }
  JointTestRequest both = request;
  both.problem.joint->num_stages = 2;
  both.problem.joint->data_degrees = {8};
  both.problem.joint->tensor_degrees = {1};
  const absl::StatusOr<Plan> before = Make(both);
  ASSERT_TRUE(before.ok()) << before.status();
  const absl::StatusOr<Plan> after = Make(StartingFrom(request, *before));
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->provenance.counters.at("start_fits"), 2);
  EXPECT_TRUE(after->warnings.empty()) << after->warnings.front();
}

TEST(JointStartTest, RefusesStartsThatAreNoPlans) {
  const JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:2", 64);
  const absl::StatusOr<Plan> made = Make(request);
  ASSERT_TRUE(made.ok()) << made.status();
  const auto paths_of = [&](const std::function<void(PlanningProblem&)>& break_it) {
    JointTestRequest broken = StartingFrom(request, *made);
    break_it(broken.problem);
    return PathsOf(Make(broken).status());
  };
  EXPECT_THAT(paths_of([](PlanningProblem& p) { p.start_from->joint.reset(); }), Contains("problem.start_from.joint"));
  EXPECT_THAT(paths_of([](PlanningProblem& p) { p.start_from->joint->stages.pop_back(); }),
              Contains("problem.start_from.joint.stages"));
  EXPECT_THAT(paths_of([](PlanningProblem& p) { p.start_from->joint->micro_batch_samples = 0; }),
              Contains("problem.start_from.joint.micro_batch_samples"));
  EXPECT_THAT(paths_of([](PlanningProblem& p) { p.start_from->joint->stages[0].degrees.tensor = 0; }),
              Contains("problem.start_from.joint.stages[0]"));
  EXPECT_THAT(paths_of([](PlanningProblem& p) { p.start_from->joint->stages[0].chunks[0].recomputation.pop_back(); }),
              Contains("problem.start_from.joint.stages"));
  EXPECT_THAT(paths_of([](PlanningProblem& p) { p.replan_tolerance = 0.1; }), Contains("problem.replan_tolerance"));
  EXPECT_THAT(paths_of([](PlanningProblem& p) { p.objective = Objective::kMinDevices; }),
              Contains("problem.start_from"));
}

}  // namespace
}  // namespace planwright
