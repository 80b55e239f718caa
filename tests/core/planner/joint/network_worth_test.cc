// What choices are worth where pairs of devices have links of their own. Fixed seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/base/random.h"
#include "core/planner/joint/joint_request.h"
#include "tests/core/planner/joint/joint_test_request.h"
#include "tests/core/planner/joint/small_network.h"
#include "tests/property/cases.h"

namespace planwright {
namespace {

// The request whose answers do without a choice.
JointTestRequest Without(JointTestRequest request, const std::string& what) {
  JointSettings& joint = *request.problem.joint;
  if (what == "recomputation") joint.recomputation = {LayerRecomputation::kNone};
  if (what == "sharding") joint.shardings = {Sharding::kNone};
  if (what == "tensor parallelism") joint.tensor_degrees = {1};
  if (what == "interleaving") joint.orders = {PipelineOrder::kOneFOneB};
  if (what == "a pipeline") joint.num_stages = 1;
  if (what == "degrees by stage") joint.per_stage = false;
  return request;
}

// By what is left out.
std::map<std::string, std::optional<Picoseconds>> WorthOf(const Plan& plan) {
  std::map<std::string, std::optional<Picoseconds>> worth;
  for (const ChoiceWorth& each : plan.joint->worth) worth[each.without] = each.step;
  return worth;
}

// The least step of all plans of a request.
std::optional<Picoseconds> LeastOf(const JointTestRequest& request) {
  std::optional<Picoseconds> least;
  AllSmallPlans(request, [&](const JointPlan& plan, Picoseconds step) {
    const std::optional<int32_t>& stages = request.problem.joint->num_stages;
    if (static_cast<std::size_t>(stages.value_or(static_cast<int32_t>(plan.stages.size()))) != plan.stages.size()) {
      return;
    }
    least = std::min(least.value_or(step), step);
  }).Run();
  return least;
}

// The request on devices with hardly more memory than it needs.
JointTestRequest OnLeastMemory(JointTestRequest request) {
  JointTestRequest less = request;
  for (absl::StatusOr<Plan> plan = Make(less); plan.ok(); plan = Make(less)) {
    request = less;
    less.cluster.device_classes.front().memory_bytes = MostHeld(*plan) * 9 / 10;
  }
  return request;
}

// Of three devices, whose places are all tried: no plan without the choice takes less, and one takes as long.
TEST(NetworkWorthTest, IsTheBestOfAllPlansWithoutTheChoice) {
  int lost = 0;
  int impossible = 0;
  // With one of little memory at least.
  for (uint64_t seed = 1; seed <= std::max<uint64_t>(2, NumCases(6)); ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, 44);
    JointTestRequest request = SmallNetworkRequest(random);
    if (seed % 2 == 0) request = OnLeastMemory(request);
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const auto worth = WorthOf(*plan);
    ASSERT_EQ(worth.size(), 4U);
    for (const auto& [what, step] : worth) {
      SCOPED_TRACE(what);
      const std::optional<Picoseconds> least = LeastOf(Without(request, what));
      ASSERT_EQ(step.has_value(), least.has_value());
      impossible += least.has_value() ? 0 : 1;
      if (!least.has_value()) continue;
      EXPECT_GE(*step, *least);
      EXPECT_LE(ToMilliseconds(*step), ToMilliseconds(*least) * 1.001);
      lost += *least > plan->objective ? 1 : 0;
    }
  }
  EXPECT_GT(lost, 0);
  EXPECT_GT(impossible, 0);
}

JointTestRequest LargerRequest(uint64_t seed, std::size_t devices) {
  RandomStream random(seed, 55);
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 16);
  request.cluster.devices.resize(devices);
  request.cluster.interconnect = RandomMatrix(random, devices, 2, 100, Picoseconds(500'000));
  return request;
}

// Of more devices places are heuristic: a request of its own, with all its work, finds no better plan by much, and its
// bound is below.
TEST(NetworkWorthTest, IsNearlyWhatARequestWithoutTheChoiceGets) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    const bool per_stage = seed == 3;
    JointTestRequest request = LargerRequest(seed, per_stage ? 4 : 8);
    request.problem.joint->per_stage = per_stage;
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const auto worth = WorthOf(*plan);
    EXPECT_EQ(worth.size(), per_stage ? 6U : 5U);
    for (const auto& [what, step] : worth) {
      SCOPED_TRACE(what);
      const absl::StatusOr<Plan> own = Make(Without(request, what));
      ASSERT_EQ(own.ok(), step.has_value()) << own.status();
      if (!own.ok()) continue;
      EXPECT_GE(*step, own->lower_bound);
      EXPECT_LE(ToMilliseconds(*step), ToMilliseconds(own->objective) * 1.05);
      if (what != "sharding") {
        EXPECT_GE(*step, plan->objective);
      }
    }
  }
}

// Where all pairs are alike, choices are worth what they are on a uniform interconnect.
TEST(NetworkWorthTest, PairsThatAreAlikeAreUniform) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:2", 32);
  // By default grids have no others.
  request.problem.joint->context_degrees = {1};
  const auto [uniform, grid] = PlansOfAlikePairs(request, {4, 4});
  ASSERT_TRUE(uniform.ok() && grid.ok()) << uniform.status() << grid.status();
  ASSERT_EQ(grid->joint->worth.size(), uniform->joint->worth.size());
  for (std::size_t i = 0; i < grid->joint->worth.size(); ++i) {
    const ChoiceWorth& own = grid->joint->worth[i];
    const ChoiceWorth& other = uniform->joint->worth[i];
    SCOPED_TRACE(own.without);
    EXPECT_EQ(own.without, other.without);
    ASSERT_EQ(own.step.has_value(), other.step.has_value());
    if (!own.step.has_value()) continue;
    EXPECT_NEAR(ToMilliseconds(*own.step), ToMilliseconds(*other.step), 2.5e-3 * ToMilliseconds(*other.step));
  }
}

TEST(NetworkWorthTest, IsTheSameForAnyNumberOfThreads) {
  const JointTestRequest request = LargerRequest(9, 8);
  std::optional<std::map<std::string, std::optional<Picoseconds>>> first;
  for (const int threads : {1, 2, 8}) {
    TaskArena arena(threads);
    PlannerObserver observer;
    const absl::StatusOr<Plan> plan = MakePlan({request.graph, request.cluster, request.problem, request.options},
                                               ModelLimits(), SolveLimits(), arena, observer);
    ASSERT_TRUE(plan.ok()) << plan.status();
    if (!first.has_value()) first = WorthOf(*plan);
    EXPECT_EQ(WorthOf(*plan), *first) << threads;
  }
}

}  // namespace
}  // namespace planwright
