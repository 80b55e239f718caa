// devices_to_use, max_devices and MIN_DEVICES through MakePlan.
#include "core/planner/devices/fewest_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/base/infeasibility.h"
#include "tests/core/planner/planner_request.h"
#include "tests/support/builders.h"

namespace planwright {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Eight operators in a row of 10 ps each, 100 on a CPU, and 1 ps for each tensor between.
PlannerRequest Chain(int accelerators, int cpus = 0) {
  PlannerRequest request;
  request.cluster = MakeCluster(accelerators, cpus);
  std::optional<OperatorId> last;
  for (int i = 0; i < 8; ++i) {
    const OperatorId op = AddOperator(request.graph, "op" + std::to_string(i), 10, 100);
    if (last.has_value()) AddTensor(request.graph, *last, {op}, 1);
    last = op;
  }
  return request;
}

PlannerRequest Within(int64_t target_ps, int accelerators, int cpus = 0) {
  PlannerRequest request = Chain(accelerators, cpus);
  request.problem.objective = Objective::kMinDevices;
  request.problem.target_period = Picoseconds(target_ps);
  return request;
}

std::vector<std::size_t> UsedDevices(const Plan& plan) {
  std::vector<std::size_t> used;
  for (const DeviceUsage& usage : plan.devices) {
    if (!usage.stages.empty()) used.push_back(usage.device.index());
  }
  return used;
}

TEST(DeviceSearchTest, UsesSelectedDevicesOnly) {
  PlannerRequest request = Chain(4);
  request.problem.devices_to_use.devices = {DeviceId(3), DeviceId(1)};
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(UsedDevices(*plan), ElementsAre(1, 3));
  EXPECT_THAT(plan->devices, SizeIs(2));
  EXPECT_EQ(plan->objective, Picoseconds(41));
  EXPECT_TRUE(plan->provenance.proven_optimal);
  EXPECT_EQ(plan->problem.devices_to_use.devices.size(), 2U);
}

TEST(DeviceSearchTest, ReportsIncumbentPlansOfTheWholeCluster) {
  class Watcher : public PlannerObserver {
   public:
    bool wants_incumbent_plans() const override { return true; }
    void OnIncumbentPlan(const Plan& plan) override {
      ++plans;
      EXPECT_THAT(UsedDevices(plan), Not(Contains(0)));
    }
    int plans = 0;
  };
  PlannerRequest request = Chain(4);
  request.problem.devices_to_use.excluded_devices = {DeviceId(0)};
  Watcher watcher;
  ASSERT_TRUE(Make(request, watcher).ok());
  EXPECT_GT(watcher.plans, 0);
}

TEST(DeviceSearchTest, RespectsReservedMemoryOfWhatIsLeft) {
  PlannerRequest request = Chain(3);
  for (Operator& op : request.graph.operators) op.memory_bytes = 10;
  request.cluster.device_classes[0].memory_bytes = 60;
  request.cluster.devices[1].reserved_memory_bytes = 50;
  request.problem.devices_to_use.excluded_devices = {DeviceId(0)};
  const absl::StatusOr<Plan> plan = Make(request);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition) << plan.status();
}

TEST(DeviceSearchTest, UsesNoMoreThanMaxDevices) {
  for (const auto& [most, objective] : std::vector<std::pair<int32_t, int64_t>>{{1, 80}, {2, 41}, {3, 31}, {4, 22}}) {
    PlannerRequest request = Chain(5);
    request.problem.devices_to_use.max_devices = most;
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->objective, Picoseconds(objective));
    EXPECT_LE(UsedDevices(*plan).size(), static_cast<std::size_t>(most));
    EXPECT_TRUE(plan->provenance.proven_optimal);
    EXPECT_EQ(plan->provenance.stop_reason, StopReason::kOptimal);
  }
}

// A CPU takes as long as ten accelerators, but with one device it is the only one that can run the last operator.
TEST(DeviceSearchTest, ChoosesTheClassesThatMaxDevicesGoesTo) {
  PlannerRequest request = Chain(3, 1);
  request.graph.operators[7].costs.erase(request.graph.operators[7].costs.begin());
  request.problem.devices_to_use.max_devices = 1;
  absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(UsedDevices(*plan), ElementsAre(3));
  EXPECT_TRUE(plan->provenance.proven_optimal);
  request.problem.devices_to_use.max_devices = 2;
  plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(100));
  EXPECT_TRUE(plan->provenance.proven_optimal);
}

TEST(FewestDevicesTest, FindsTheFewestAndProvesIt) {
  for (const auto& [target, devices] : std::vector<std::pair<int64_t, std::size_t>>{
           {1000, 1}, {80, 1}, {79, 2}, {41, 2}, {40, 3}, {31, 3}, {30, 4}, {22, 4}, {21, 6}, {20, 8}, {12, 8}}) {
    const absl::StatusOr<Plan> plan = Make(Within(target, 10));
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_THAT(UsedDevices(*plan), SizeIs(devices)) << target;
    EXPECT_LE(plan->objective, Picoseconds(target));
    EXPECT_TRUE(plan->provenance.proven_optimal);
    EXPECT_EQ(plan->provenance.stop_reason, StopReason::kOptimal);
    EXPECT_EQ(plan->provenance.counters.at("devices_used"), static_cast<int64_t>(devices));
    EXPECT_EQ(plan->provenance.counters.at("devices_needed"), static_cast<int64_t>(devices));
    EXPECT_EQ(plan->provenance.fallback, "");
    const auto speaks_of_fewer = [&](const Bound& bound) {
      return bound.scope == BoundScope::kFewerDevices && bound.value > Picoseconds(target);
    };
    EXPECT_EQ(std::count_if(plan->bounds.begin(), plan->bounds.end(), speaks_of_fewer), 1);
    EXPECT_THAT(plan->warnings, Not(Contains(HasSubstr("fewer devices"))));
  }
}

TEST(FewestDevicesTest, CountsAcceleratorsAndLetsCpusHelp) {
  // The CPU takes one operator of 100 ps.
  const absl::StatusOr<Plan> one = Make(Within(100, 4, 1));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->provenance.counters.at("devices_used"), 1);
  const absl::StatusOr<Plan> none = Make(Within(800, 4, 1));
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->provenance.counters.at("devices_used"), 0);
  EXPECT_THAT(UsedDevices(*none), ElementsAre(4));
  EXPECT_TRUE(none->provenance.proven_optimal);
}

TEST(FewestDevicesTest, CountsCpusWhereThereIsNothingElse) {
  const absl::StatusOr<Plan> plan = Make(Within(400, 0, 4));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(UsedDevices(*plan), SizeIs(2));
  EXPECT_TRUE(plan->provenance.proven_optimal);
}

TEST(FewestDevicesTest, KeepsToTheSelection) {
  PlannerRequest request = Within(41, 8);
  request.problem.devices_to_use.excluded_devices = {DeviceId(0), DeviceId(2)};
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(UsedDevices(*plan), ElementsAre(1, 3));
}

// Two hosts of four accelerators; a transfer takes 1 ps on a host and 5 between hosts.
PlannerRequest OnHosts() {
  PlannerRequest request = Chain(8);
  for (Tensor& tensor : request.graph.tensors) {
    tensor.transfer.reset();
    tensor.size_bytes = 1;
  }
  request.cluster.interconnect = HierarchyInterconnect{{{4, 1e12, {}}, {2, 0.2e12, {}}}};
  return request;
}

TEST(FewestDevicesTest, StaysOnAHostWhereTheTargetAllowsIt) {
  PlannerRequest request = OnHosts();
  request.problem.objective = Objective::kMinDevices;
  request.problem.target_period = Picoseconds(31);
  request.problem.devices_to_use.excluded_devices = {DeviceId(0), DeviceId(2)};
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(UsedDevices(*plan), ElementsAre(4, 5, 6));
  EXPECT_TRUE(plan->provenance.proven_optimal);
}

// Six devices are on two hosts, and one operator with a transfer between them takes 16 ps at least.
TEST(FewestDevicesTest, CountsWhatTransfersBetweenHostsCost) {
  PlannerRequest request = OnHosts();
  request.problem.objective = Objective::kMinDevices;
  request.problem.target_period = Picoseconds(15);
  const absl::Status status = Make(request).status();
  EXPECT_TRUE(IsNoPlanFound(status) || InfeasibilityOf(status).has_value()) << status;
}

TEST(DeviceSearchTest, MaxDevicesOfAHierarchyAreOnOneHost) {
  PlannerRequest request = OnHosts();
  request.problem.devices_to_use.max_devices = 4;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(UsedDevices(*plan), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(plan->objective, Picoseconds(22));
  EXPECT_TRUE(plan->provenance.proven_optimal);
}

TEST(DeviceSearchTest, PlansOnIrregularPartsOfAHierarchy) {
  PlannerRequest request = OnHosts();
  request.problem.devices_to_use.devices = {DeviceId(0), DeviceId(1), DeviceId(5)};
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(35));
  EXPECT_TRUE(plan->provenance.proven_optimal);
  request.options.algorithm = Algorithm::kHierarchicalDp;
  const absl::StatusOr<Plan> by_levels = Make(request);
  ASSERT_TRUE(by_levels.ok()) << by_levels.status();
  EXPECT_GE(by_levels->objective, Picoseconds(35));
  // Its bound knows the fastest links only.
  EXPECT_LE(by_levels->lower_bound, Picoseconds(31));
}

// A device of another host may be slower to reach than it is worth: one more is never worse.
TEST(DeviceSearchTest, MoreDevicesOfAHierarchyAreNeverWorse) {
  Picoseconds best{1'000'000};
  for (int32_t count = 1; count <= 8; ++count) {
    PlannerRequest request = OnHosts();
    for (Tensor& tensor : request.graph.tensors) tensor.size_bytes = 4;
    request.problem.devices_to_use.max_devices = count;
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_LE(plan->objective, best) << count;
    best = std::min(best, plan->objective);
  }
}

// A bound that looks like the target says that plans take more than it.
TEST(FewestDevicesTest, SaysThatATargetIsMissedByLittle) {
  PlannerRequest request;
  request.cluster = MakeCluster(2, 0);
  request.problem.objective = Objective::kMinDevices;
  request.problem.target_period = Picoseconds(10'000'000'000);
  AddOperator(request.graph, "op", 10'000'000'001, 1);
  EXPECT_THAT(Make(request).status().message(),
              HasSubstr("the target of 10 ms cannot be met: every plan on all 2 devices takes more than 10 ms"));
}

TEST(FewestDevicesTest, ProvesThatATargetCannotBeMet) {
  const absl::Status status = Make(Within(11, 10)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  const std::optional<Infeasibility> proof = InfeasibilityOf(status);
  ASSERT_TRUE(proof.has_value());
  EXPECT_THAT(proof->shortages, ElementsAre(Field(&Shortage::resource, "time")));
  EXPECT_THAT(status.message(), HasSubstr("every plan on all 10 devices takes at least"));
  PlannerRequest limited = Within(20, 10);
  limited.problem.devices_to_use.max_devices = 7;
  EXPECT_EQ(Make(limited).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(FewestDevicesTest, SaysWhatIsMissingWhereNoTargetWouldHelp) {
  PlannerRequest request = Within(1000, 2);
  for (Operator& op : request.graph.operators) op.memory_bytes = 10;
  request.cluster.device_classes[0].memory_bytes = 30;
  const std::optional<Infeasibility> proof = InfeasibilityOf(Make(request).status());
  ASSERT_TRUE(proof.has_value());
  EXPECT_THAT(proof->shortages, Contains(Field(&Shortage::resource, "memory")));
}

TEST(FewestDevicesTest, AHeuristicProvesNothingButTheWork) {
  PlannerRequest request = Within(40, 8);
  request.options.algorithm = Algorithm::kLinearizedDp;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(UsedDevices(*plan), SizeIs(3));
  EXPECT_FALSE(plan->provenance.proven_optimal);
  EXPECT_EQ(plan->provenance.stop_reason, StopReason::kExhausted);
  EXPECT_EQ(plan->provenance.counters.at("devices_needed"), 2);
  EXPECT_THAT(plan->warnings, Contains(HasSubstr("2 are needed at least")));
  request.problem.target_period = Picoseconds(11);
  EXPECT_TRUE(IsNoPlanFound(Make(request).status()));
}

TEST(FewestDevicesTest, StopsWithTheBestSoFar) {
  class Stopper : public PlannerObserver {
   public:
    void OnIncumbent(const Incumbent&) override { stop.request_stop(); }
    std::stop_source stop;
  };
  Stopper stopper;
  PlannerRequest request = Within(40, 8);
  request.limits.stop = stopper.stop.get_token();
  const absl::StatusOr<Plan> plan = Make(request, stopper);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_LE(plan->objective, Picoseconds(40));
  EXPECT_EQ(plan->provenance.stop_reason, StopReason::kCancelled);
}

TEST(FewestDevicesTest, PlansGraphsWithNothingToRun) {
  PlannerRequest request = Within(40, 8);
  for (Operator& op : request.graph.operators) op.pass = Pass::kBackward;
  request.problem.workload = Workload::kInference;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->stages, IsEmpty());
  EXPECT_TRUE(plan->provenance.proven_optimal);
}

TEST(FewestDevicesTest, AGapSettlesNoTarget) {
  // A plan that is close to the best one is not yet within the target.
  for (const int64_t target : {12, 22, 43}) {
    PlannerRequest request = Within(target, 8);
    const absl::StatusOr<Plan> exact = Make(request);
    request.options.relative_gap = 0.5;
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(exact.ok() && plan.ok()) << exact.status() << plan.status();
    EXPECT_EQ(UsedDevices(*plan), UsedDevices(*exact)) << "within " << target;
  }
}

TEST(FewestDevicesTest, OneDeviceIsTheFewestForWhatTakesNoTime) {
  PlannerRequest request;
  request.cluster = MakeCluster(3, 0);
  for (int i = 0; i < 40; ++i) AddOperator(request.graph, "op" + std::to_string(i), 0, 0);
  request.problem.objective = Objective::kMinDevices;
  request.problem.target_period = Picoseconds(10);
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(UsedDevices(*plan), SizeIs(1));
  EXPECT_TRUE(plan->provenance.proven_optimal);
}

}  // namespace
}  // namespace planwright
