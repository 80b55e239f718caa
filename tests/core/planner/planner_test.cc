#include "core/planner/planner.h"

#include <absl/status/status.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/base/violations.h"
#include "core/verify/verify.h"
#include "core/zoo/zoo.h"
#include "tests/core/planner/planner_request.h"
#include "tests/support/builders.h"
#include "tests/support/lattices.h"

namespace planwright {
namespace {

// Whether the few milliseconds that are left after a stop request are too few, as code with sanitizers is slow.
#ifdef PLANWRIGHT_SANITIZED
constexpr bool kIsSlow = true;
#else
constexpr bool kIsSlow = false;
#endif

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// `length` operators in a row of 10 ps each, 100 on a CPU, and 1 ps for each tensor between.
PlannerRequest ChainOf(int length) {
  PlannerRequest request;
  std::optional<OperatorId> last;
  for (int i = 0; i < length; ++i) {
    const OperatorId op = AddOperator(request.graph, "op" + std::to_string(i), 10, 100);
    if (last.has_value()) AddTensor(request.graph, *last, {op}, 1);
    last = op;
  }
  return request;
}

PlannerRequest LatticeRequest(std::string_view name) {
  Lattice lattice = *MakeLattice(name);
  PlannerRequest request;
  request.graph = std::move(lattice.graph);
  request.cluster = std::move(lattice.cluster);
  return request;
}

// Which stages and devices, and all that must not depend on the clock.
void ExpectSamePlan(const Plan& a, const Plan& b) {
  EXPECT_EQ(a.objective, b.objective);
  EXPECT_EQ(a.lower_bound, b.lower_bound);
  EXPECT_EQ(a.provenance.counters, b.provenance.counters);
  EXPECT_EQ(a.provenance.stop_reason, b.provenance.stop_reason);
  ASSERT_EQ(a.stages.size(), b.stages.size());
  for (std::size_t i = 0; i < a.stages.size(); ++i) {
    EXPECT_EQ(a.stages[i].operators, b.stages[i].operators);
    EXPECT_EQ(a.stages[i].replicas[0].device, b.stages[i].replicas[0].device);
  }
  ASSERT_EQ(a.provenance.incumbents.size(), b.provenance.incumbents.size());
  for (std::size_t i = 0; i < a.provenance.incumbents.size(); ++i) {
    EXPECT_EQ(a.provenance.incumbents[i].objective, b.provenance.incumbents[i].objective);
    EXPECT_EQ(a.provenance.incumbents[i].work, b.provenance.incumbents[i].work);
  }
}

// Remembers what it was told; may act on it.
class Recorder : public PlannerObserver {
 public:
  void OnPhase(std::string_view phase) override { phases.emplace_back(phase); }
  void OnIncumbent(const Incumbent& incumbent) override { incumbents.push_back(incumbent); }
  void OnBound(const Bound& bound) override { bounds.push_back(bound); }

  std::vector<std::string> phases;
  std::vector<Incumbent> incumbents;
  std::vector<Bound> bounds;
};

// One operator of 10 ps with 8 bytes on two accelerators of 10 bytes, one of which reserves some of them.
PlannerRequest ReplicasOnUnequalMemory(int64_t reserved_bytes) {
  PlannerRequest request = ChainOf(1);
  request.graph.operators[0].memory_bytes = 8;
  request.cluster = MakeCluster(2, 0, 10);
  request.cluster.devices[1].reserved_memory_bytes = reserved_bytes;
  request.problem.replication = Replication::kPerStage;
  return request;
}

TEST(MakePlanTest, ReplicatesAcrossDevicesWhoseMemoryDiffersButSuffices) {
  const absl::StatusOr<Plan> plan = Make(ReplicasOnUnequalMemory(2));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(5));
  EXPECT_TRUE(plan->provenance.proven_optimal);
}

TEST(MakePlanTest, DoesNotClaimWhatReplicasOnUnequalMemoryCouldRefute) {
  PlannerRequest request = ReplicasOnUnequalMemory(3);
  request.options.algorithm = Algorithm::kIdealDp;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(10));
  EXPECT_EQ(plan->lower_bound, Picoseconds(5));
  EXPECT_FALSE(plan->provenance.proven_optimal);
  EXPECT_EQ(plan->provenance.stop_reason, StopReason::kExhausted);
}

TEST(MakePlanTest, IsTheSameForAnyNumberOfThreads) {
  const oneapi::tbb::global_control control(oneapi::tbb::global_control::max_allowed_parallelism, 8);
  const PlannerRequest request = LatticeRequest("inc_4x10_lo");
  const absl::StatusOr<Plan> alone = Make(request, 1);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_TRUE(alone->provenance.proven_optimal);
  EXPECT_GT(alone->provenance.counters.at("ideals"), 2000);
  for (const int threads : {2, 8}) ExpectSamePlan(*alone, *Make(request, threads));
}

TEST(MakePlanTest, OptionsMayUseFewerThreads) {
  PlannerRequest request = ChainOf(4);
  request.options.threads = 1;
  const absl::StatusOr<Plan> plan = Make(request, 4);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(21));
}

TEST(MakePlanTest, PlansTheSmallestRequests) {
  const absl::StatusOr<Plan> single = Make(ChainOf(1));
  ASSERT_TRUE(single.ok()) << single.status();
  EXPECT_EQ(single->objective, Picoseconds(10));
  EXPECT_THAT(single->stages, SizeIs(1));
  EXPECT_THAT(single->devices, SizeIs(3));
  EXPECT_EQ(single->provenance.stop_reason, StopReason::kOptimal);
}

TEST(MakePlanTest, InferenceOfBackwardOperatorsOnlyTakesNothing) {
  PlannerRequest request = ChainOf(2);
  for (Operator& op : request.graph.operators) op.pass = Pass::kBackward;
  request.problem.workload = Workload::kInference;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->stages, IsEmpty());
  EXPECT_EQ(plan->objective, Picoseconds(0));
  EXPECT_TRUE(plan->provenance.proven_optimal);
}

TEST(MakePlanTest, ReadersOfGradientsPayForTheirGroupAlone) {
  // A gradient of the second stage is read by two others, of which the first one is in the same group of two. Only who
  // sends it pays for the reader in the other group.
  PlannerRequest request;
  request.cluster = MakeCluster(4, 0);
  request.cluster.interconnect = HierarchyInterconnect{.levels = {{.fan_out = 2, .bandwidth_bytes_per_second = 9e12},
                                                                  {.fan_out = 2, .bandwidth_bytes_per_second = 1e12}}};
  const OperatorId root = AddOperator(request.graph, "root", 30, 1'000);
  const OperatorId a = AddOperator(request.graph, "a", 41, 1'000);
  const OperatorId b = AddOperator(request.graph, "b", 20, 1'000);
  const OperatorId c = AddOperator(request.graph, "c", 42, 1'000);
  const OperatorId d = AddOperator(request.graph, "d", 50, 1'000);
  AddTensor(request.graph, root, {a, b, c, d}, 0);
  // Numbers a before b and c.
  AddTensor(request.graph, a, {AddOperator(request.graph, "z", 0, 0)}, 0);
  const OperatorId gradient = AddBackward(request.graph, "a_bw", a, 0, 0);
  const std::vector<OperatorId> readers{AddBackward(request.graph, "b_bw", b, 0, 0),
                                        AddBackward(request.graph, "c_bw", c, 0, 0)};
  AddTensor(request.graph, gradient, readers, 0, /*size_bytes=*/9);
  request.graph.tensors.back().transfer.reset();
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(51));
}

TEST(MakePlanTest, PlansForCpusOnly) {
  PlannerRequest request = ChainOf(4);
  request.cluster = MakeCluster(0, 2);
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  // CPUs do not pay for transfers.
  EXPECT_EQ(plan->objective, Picoseconds(200));
  EXPECT_TRUE(plan->provenance.proven_optimal);
}

TEST(MakePlanTest, LeavesDevicesIdleWhereThereAreMoreThanOperators) {
  PlannerRequest request = ChainOf(2);
  request.cluster = MakeCluster(40, 40);
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(11));
  EXPECT_THAT(plan->stages, SizeIs(2));
  EXPECT_THAT(plan->devices, SizeIs(80));
}

TEST(MakePlanTest, FillsDevicesGreedilyWhereTheirCombinationsAreTooMany) {
  PlannerRequest request = ChainOf(5);
  request.cluster = MakeCluster(64, 0);
  request.cluster.device_classes[0].memory_bytes = 1000;
  for (std::size_t i = 0; i < 64; ++i) request.cluster.devices[i].reserved_memory_bytes = static_cast<int64_t>(i);
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(12));
  EXPECT_EQ(plan->lower_bound, Picoseconds(10));
  EXPECT_EQ(plan->provenance.stop_reason, StopReason::kMemoryLimit);
  EXPECT_EQ(plan->provenance.fallback, "greedy");
}

TEST(MakePlanTest, PlansGraphsThatTakeNoTime) {
  PlannerRequest request = ChainOf(5);
  for (Operator& op : request.graph.operators) {
    for (OperatorCost& cost : op.costs) cost.forward = Picoseconds(0);
  }
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(0));
  EXPECT_TRUE(plan->provenance.proven_optimal);
}

TEST(MakePlanTest, PlansTimesNearTheLargestQuantity) {
  PlannerRequest request;
  const int64_t time = kMaxQuantity / 8;
  const OperatorId a = AddOperator(request.graph, "a", time, time);
  const OperatorId b = AddOperator(request.graph, "b", time, time);
  AddTensor(request.graph, a, {b}, time / 4);
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  // One on a CPU, which does not pay.
  EXPECT_EQ(plan->objective, Picoseconds(time + time / 4));
  EXPECT_TRUE(plan->provenance.proven_optimal);
}

TEST(MakePlanTest, LinearizedProgramSaysWhatItIs) {
  PlannerRequest request = ChainOf(6);
  request.options.algorithm = Algorithm::kLinearizedDp;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->provenance.algorithm, "linearized_dp");
  EXPECT_THAT(plan->provenance.fallback, IsEmpty());
  EXPECT_FALSE(plan->provenance.algorithm_version.empty());
  EXPECT_LE(plan->lower_bound, plan->objective);
  EXPECT_EQ(plan->objective, Picoseconds(31));
}

TEST(MakePlanTest, UniformInterconnectIsProvenOnSmallGraphs) {
  PlannerRequest request = ChainOf(4);
  request.cluster = MakeCluster(2, 0);
  request.cluster.interconnect = UniformInterconnect();
  const absl::StatusOr<Plan> chain = Make(request);
  ASSERT_TRUE(chain.ok()) << chain.status();
  EXPECT_EQ(chain->objective, Picoseconds(21));
  EXPECT_TRUE(chain->provenance.proven_optimal);

  // One producer, three consumers on devices of their own: the producer pays three times, in the net form once. On few
  // blocks the readers are counted, which proves it.
  PlannerRequest fan;
  const OperatorId root = AddOperator(fan.graph, "root", 100, 100);
  std::vector<OperatorId> consumers;
  for (const char* name : {"a", "b", "c"}) consumers.push_back(AddOperator(fan.graph, name, 100, 100));
  AddTensor(fan.graph, root, consumers, 10);
  fan.cluster = MakeCluster(4, 0);
  fan.cluster.interconnect = UniformInterconnect();
  const absl::StatusOr<Plan> plan = Make(fan);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(130));
  EXPECT_EQ(plan->lower_bound, Picoseconds(130));
  EXPECT_TRUE(plan->provenance.proven_optimal);
}

TEST(MakePlanTest, TellsTheObserverOfPhasesIncumbentsAndBounds) {
  Recorder recorder;
  const PlannerRequest request = LatticeRequest("tow_3x6_lo");
  const absl::StatusOr<Plan> plan = Make(request, recorder);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(recorder.phases,
              ElementsAre("validate", "baselines", "preprocess", "linearized_dp", "ideal_dp", "verify"));
  ASSERT_THAT(recorder.incumbents, SizeIs(plan->provenance.incumbents.size()));
  ASSERT_FALSE(recorder.incumbents.empty());
  EXPECT_EQ(recorder.incumbents.back().objective, plan->objective);
  for (std::size_t i = 1; i < recorder.incumbents.size(); ++i) {
    EXPECT_LT(recorder.incumbents[i].objective, recorder.incumbents[i - 1].objective);
  }
  for (std::size_t i = 1; i < recorder.bounds.size(); ++i) {
    EXPECT_GT(recorder.bounds[i].value, recorder.bounds[i - 1].value);
  }
  EXPECT_EQ(recorder.bounds.back().value, plan->lower_bound);
}

TEST(MakePlanTest, JointSearchesTellWhatTheyKnowOfTheBestPlan) {
  PlannerRequest request;
  request.graph = MakeZooModel("llama3-8b").value();
  request.cluster = MakeZooCluster("dgx-h100:2").value();
  request.problem.joint.emplace().global_batch = 64;
  for (const bool per_stage : {false, true}) {
    request.problem.joint->per_stage = per_stage;
    Recorder recorder;
    const absl::StatusOr<Plan> plan = Make(request, recorder);
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_FALSE(recorder.incumbents.empty());
    for (const Incumbent& incumbent : recorder.incumbents) EXPECT_LE(incumbent.lower_bound, plan->objective);
    if (per_stage) continue;
    ASSERT_EQ(recorder.bounds.size(), 1U);
    EXPECT_EQ(recorder.bounds.front().scope, BoundScope::kAlignedPlaces);
    EXPECT_EQ(recorder.bounds.front().value, recorder.incumbents.front().lower_bound);
    EXPECT_GT(ToMilliseconds(recorder.bounds.front().value), 0.5 * ToMilliseconds(plan->objective));
  }
}

// Keeps the plan of each incumbent.
class PlanRecorder final : public Recorder {
 public:
  bool wants_incumbent_plans() const override { return true; }
  void OnIncumbentPlan(const Plan& plan) override { plans.push_back(plan); }

  std::vector<Plan> plans;
};

TEST(MakePlanTest, HandsOutAVerifiedPlanForEachIncumbent) {
  const PlannerRequest request = LatticeRequest("tow_3x6_lo");
  PlanRecorder recorder;
  const absl::StatusOr<Plan> plan = Make(request, recorder);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_THAT(recorder.plans, SizeIs(recorder.incumbents.size()));
  ASSERT_GT(recorder.plans.size(), 1);
  for (std::size_t i = 0; i < recorder.plans.size(); ++i) {
    const Plan& incumbent = recorder.plans[i];
    EXPECT_EQ(incumbent.objective, recorder.incumbents[i].objective);
    EXPECT_EQ(incumbent.lower_bound, recorder.incumbents[i].lower_bound);
    EXPECT_THAT(incumbent.provenance.incumbents, SizeIs(i + 1));
    Violations violations;
    VerifyPlan(request.graph, request.cluster, incumbent, violations);
    EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  }
  EXPECT_EQ(recorder.plans.front().provenance.stop_reason, StopReason::kCancelled);
  EXPECT_EQ(recorder.plans.front().provenance.fallback, "greedy");
  EXPECT_EQ(recorder.plans.back().objective, plan->objective);
  const absl::StatusOr<Plan> alone = Make(request);
  ASSERT_TRUE(alone.ok()) << alone.status();
  ExpectSamePlan(*plan, *alone);
}

TEST(MakePlanTest, AStopRequestBeforeTheStartStillGetsTheGreedyPlan) {
  PlannerRequest request = LatticeRequest("tow_3x6_lo");
  const std::stop_source stop;
  stop.request_stop();
  request.limits.stop = stop.get_token();
  const absl::StatusOr<Plan> plan = Make(request);
  if (kIsSlow && absl::IsCancelled(plan.status())) GTEST_SKIP() << plan.status();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->provenance.stop_reason, StopReason::kCancelled);
  EXPECT_EQ(plan->provenance.fallback, "greedy");
  EXPECT_FALSE(plan->provenance.proven_optimal);
}

TEST(MakePlanTest, AStopRequestBeforeTheStartLeavesTimeForTheBoundOfASmallGraph) {
  PlannerRequest request = ChainOf(4);
  const std::stop_source stop;
  stop.request_stop();
  request.limits.stop = stop.get_token();
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GT(plan->lower_bound, Picoseconds(0));
}

TEST(MakePlanTest, AStopRequestDuringTheSearchIsAnswered) {
  class Stopper : public PlannerObserver {
   public:
    void OnBound(const Bound& bound) override {
      if (bound.method == "ideal_dp") stop.request_stop();
    }
    std::stop_source stop;
  };
  Stopper stopper;
  PlannerRequest request = LatticeRequest("inc_5x8_lo");
  request.limits.stop = stopper.stop.get_token();
  const absl::StatusOr<Plan> plan = Make(request, stopper, 2);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->provenance.stop_reason, StopReason::kCancelled);
  EXPECT_FALSE(plan->provenance.incumbents.empty());
  EXPECT_LT(plan->lower_bound, plan->objective);
}

TEST(MakePlanTest, ADeadlineInThePastStillGetsTheGreedyPlanOrSaysThereIsNone) {
  PlannerRequest request = LatticeRequest("tow_3x6_lo");
  request.limits.deadline = SolveLimits::Clock::now() - std::chrono::hours(1);
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->provenance.stop_reason, StopReason::kTimeLimit);

  // Only {a, c} and {b, d} fit, which are intervals of neither linear order of the canonical numbering.
  PlannerRequest tight;
  const std::vector<int64_t> bytes = {5, 2, 3, 6};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const OperatorId op = AddOperator(tight.graph, std::string(1, static_cast<char>('a' + i)), 10, 10);
    tight.graph.operators[op.index()].memory_bytes = bytes[i];
  }
  tight.cluster = MakeCluster(2, 0, 8);
  tight.limits.deadline = request.limits.deadline;
  const absl::StatusOr<Plan> none = Make(tight);
  ASSERT_FALSE(none.ok());
  EXPECT_TRUE(IsNoPlanFound(none.status())) << none.status();
  const std::stop_source stop;
  stop.request_stop();
  tight.limits = SolveLimits();
  tight.limits.stop = stop.get_token();
  EXPECT_EQ(Make(tight).status().code(), absl::StatusCode::kCancelled);
  tight.limits = SolveLimits();
  const absl::StatusOr<Plan> found = Make(tight);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->objective, Picoseconds(20));
}

TEST(MakePlanTest, LimitsNameWhatStoppedTheSearchAndWhoMadeThePlan) {
  PlannerRequest request = LatticeRequest("tow_4x8_lo");
  request.options.algorithm = Algorithm::kIdealDp;
  request.options.ideal_limit = 20;
  const absl::StatusOr<Plan> ideals = Make(request);
  ASSERT_TRUE(ideals.ok()) << ideals.status();
  EXPECT_EQ(ideals->provenance.stop_reason, StopReason::kIdealLimit);
  EXPECT_THAT(ideals->provenance.fallback, ::testing::AnyOf("linearized_dp", "greedy"));
  EXPECT_LE(ideals->lower_bound, ideals->objective);

  request.options.ideal_limit.reset();
  request.options.work_limit = 50;
  const absl::StatusOr<Plan> work = Make(request);
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(work->provenance.stop_reason, StopReason::kWorkLimit);

  request.options.work_limit.reset();
  request.limits.memory_bytes = 10'000;
  const absl::StatusOr<Plan> memory = Make(request);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(memory->provenance.stop_reason, StopReason::kMemoryLimit);
}

TEST(MakePlanTest, SaysWhatIsMissingForInfeasibleRequests) {
  PlannerRequest request = ChainOf(3);
  request.cluster = MakeCluster(2, 0, 8);
  for (Operator& op : request.graph.operators) op.memory_bytes = 6;
  const absl::StatusOr<Plan> plan = Make(request);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition);
  const std::optional<Infeasibility> infeasibility = InfeasibilityOf(plan.status());
  ASSERT_TRUE(infeasibility.has_value());
  ASSERT_THAT(infeasibility->shortages, SizeIs(1));
  EXPECT_EQ(infeasibility->shortages[0].description,
            "the model needs 18 bytes, but all devices together offer 16 bytes: 2 bytes are missing; the tightest is "
            "operator \"op0\" with 6 bytes");
  EXPECT_EQ(infeasibility->minimum_devices, 3);

  // Enough in sum, but no stage holds two.
  request.cluster = MakeCluster(2, 0, 10);
  const std::optional<Infeasibility> divided = InfeasibilityOf(Make(request).status());
  ASSERT_TRUE(divided.has_value());
  EXPECT_THAT(divided->shortages[0].description, HasSubstr("every contiguous split overfills a device"));
}

// Whatever a callback or an allocation throws ends here as a status.
TEST(MakePlanTest, TurnsExceptionsIntoStatuses) {
  class Thrower : public PlannerObserver {
   public:
    explicit Thrower(bool out_of_memory) : out_of_memory_(out_of_memory) {}
    void OnIncumbent(const Incumbent&) override {
      if (out_of_memory_) throw std::bad_alloc();
      throw std::runtime_error("the reason");
    }

   private:
    bool out_of_memory_;
  };
  Thrower out_of_memory(true);
  EXPECT_EQ(Make(ChainOf(3), out_of_memory).status().code(), absl::StatusCode::kResourceExhausted);
  Thrower broken(false);
  const absl::Status status = Make(ChainOf(3), broken).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the reason"));
}

TEST(EvaluatePlacementTest, HeedsStopAndDeadline) {
  const PlannerRequest request = ChainOf(3);
  const Placement placement = PlacementOf(*Make(request));
  const auto evaluate = [&](const SolveLimits& limits) {
    return EvaluatePlacement({request.graph, request.cluster, request.problem, request.options}, ModelLimits(),
                             placement, limits);
  };
  EXPECT_TRUE(evaluate(SolveLimits()).ok());
  SolveLimits late;
  late.deadline = SolveLimits::Clock::now();
  EXPECT_EQ(evaluate(late).status().code(), absl::StatusCode::kDeadlineExceeded);
  const std::stop_source stop;
  stop.request_stop();
  SolveLimits stopped;
  stopped.stop = stop.get_token();
  EXPECT_EQ(evaluate(stopped).status().code(), absl::StatusCode::kCancelled);
}

TEST(MakePlanTest, LooksAtTheProblemOnlyWhenGraphAndClusterAreSound) {
  PlannerRequest request = ChainOf(2);
  request.graph.operators[1].name = request.graph.operators[0].name;
  request.problem.objective = Objective::kMinDevices;
  const std::vector<Violation> unsound = ViolationsOf(Make(request).status());
  ASSERT_THAT(unsound, SizeIs(1));
  EXPECT_THAT(unsound[0].path, HasSubstr("graph.operators"));
  request.graph.operators[1].name = "other";
  const std::vector<Violation> sound = ViolationsOf(Make(request).status());
  ASSERT_THAT(sound, SizeIs(1));
  EXPECT_EQ(sound[0].path, "problem.target_period_ms");
}

// The first and the last of three operators share a device: more than the searches of this mode may know.
TEST(EvaluatePlacementTest, NeedsNoSearch) {
  PlannerRequest request = ChainOf(3);
  Placement placement;
  for (const std::size_t op : {0, 1, 2}) placement.stages.push_back({{OperatorId(op)}, {DeviceId(op % 2)}});
  const auto evaluate = [&] {
    return EvaluatePlacement({request.graph, request.cluster, request.problem, request.options}, ModelLimits(),
                             placement);
  };
  EXPECT_FALSE(evaluate()->violations.empty());
  for (const Objective objective : {Objective::kMaxThroughput, Objective::kMinLatency}) {
    request.problem.objective = objective;
    request.problem.split = Split::kNonContiguous;
    const absl::StatusOr<Verdict> verdict = evaluate();
    ASSERT_TRUE(verdict.ok()) << verdict.status();
    EXPECT_TRUE(verdict->violations.empty()) << verdict->violations.ToStatus();
  }
}

TEST(EvaluatePlacementTest, JudgesWhatMakePlanMade) {
  const PlannerRequest request = ChainOf(4);
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const absl::StatusOr<Verdict> verdict = EvaluatePlacement(
      {request.graph, request.cluster, request.problem, request.options}, ModelLimits(), PlacementOf(*plan));
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_TRUE(verdict->violations.empty());
  EXPECT_EQ(verdict->costed->objective, plan->objective);
}

}  // namespace
}  // namespace planwright
