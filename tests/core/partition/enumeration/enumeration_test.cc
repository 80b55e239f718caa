#include "core/partition/enumeration/enumeration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/cost/plan_costing.h"
#include "core/verify/verify.h"
#include "tests/property/brute_force.h"
#include "tests/property/cases.h"
#include "tests/property/latency_brute_force.h"
#include "tests/support/mode_instance.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

// A request for the instance, and what its callbacks need.
class Case {
 public:
  explicit Case(Instance instance)
      : instance_(std::move(instance)),
        problem_(ResolveProblem(instance_.graph, instance_.problem)),
        costs_(instance_.graph, instance_.cluster, problem_.workload) {}

  const Instance& instance() const { return instance_; }
  const ResolvedProblem& problem() const { return problem_; }

  SearchRequest Request() const {
    return {instance_.graph, instance_.cluster, problem_, costs_, options_, Algorithm::kEnumeration, {}};
  }

  SearchCallbacks Callbacks() const {
    SearchCallbacks callbacks;
    callbacks.objective = [this](const Placement& placement) {
      return CostPlan({instance_.graph, instance_.cluster, problem_, costs_}, placement).objective;
    };
    callbacks.objection = [this](const Placement& placement) { return Objection(placement); };
    return callbacks.Silenced();
  }

  // What the verifier has against a placement.
  std::string Objection(const Placement& placement) const {
    const Verdict verdict = VerifyPlacement({instance_.graph, instance_.cluster, problem_}, placement);
    if (verdict.violations.empty()) return "";
    const Violation& first = verdict.violations.listed().front();
    return first.path + ": " + first.rule;
  }

  absl::StatusOr<SearchOutcome> Solve(const SearchRequest& request, const SolveLimits& limits = SolveLimits()) const {
    TaskArena arena(1);
    return SolveByEnumeration(request, limits, arena, Callbacks());
  }

 private:
  const Instance instance_;
  const ResolvedProblem problem_;
  const CostTable costs_;
  const SolverOptions options_;
};

struct ModeCase {
  std::string name;
  InstanceMode mode;
  uint64_t instances;
  int max_operators;
};

class EnumerationModeTest : public ::testing::TestWithParam<ModeCase> {};

// The best objective that brute force finds; nullopt: the instance is too large for it.
std::optional<std::optional<Picoseconds>> OptimumByBruteForce(InstanceMode mode, const Instance& instance) {
  constexpr double kMaxLatencyPlacements = 100'000;
  if (mode != InstanceMode::kLatency) return NaiveJudge(instance).Optimum();
  const NaiveLatencyJudge judge(instance);
  if (judge.NumPlacements() > kMaxLatencyPlacements) return std::nullopt;
  return judge.Optimum();
}

TEST_P(EnumerationModeTest, AgreesWithBruteForce) {
  int solved = 0;
  int refuted = 0;
  for (uint64_t seed = 0; seed < NumCases(GetParam().instances) && !HasFailure(); ++seed) {
    const Case tried(MakeModeInstance(GetParam().mode, seed, GetParam().max_operators));
    const auto known = OptimumByBruteForce(GetParam().mode, tried.instance());
    if (!known.has_value()) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(tried.instance()));
    const std::optional<int64_t> count = CountPlacements(tried.Request());
    ASSERT_TRUE(count.has_value());
    const absl::StatusOr<SearchOutcome> outcome = tried.Solve(tried.Request());
    if (!outcome.ok()) {
      ++refuted;
      EXPECT_TRUE(InfeasibilityOf(outcome.status()).has_value()) << outcome.status();
      EXPECT_FALSE(known->has_value()) << outcome.status() << ", but brute force finds " << (*known)->count();
      continue;
    }
    ++solved;
    EXPECT_EQ(outcome->objective.count(), known->value_or(Picoseconds(-1)).count());
    EXPECT_EQ(tried.Objection(outcome->placement), "");
    EXPECT_EQ(outcome->stop_reason, StopReason::kOptimal);
    EXPECT_LE(outcome->counters.at("placements"), *count);
    ASSERT_FALSE(outcome->bounds.empty());
    EXPECT_EQ(outcome->bounds.back().value, outcome->objective);
    EXPECT_EQ(outcome->bounds.back().method, "enumeration");
    EXPECT_EQ(outcome->bounds.back().scope, BoundScope::kProblem);
  }
  EXPECT_GT(solved, 20);
  EXPECT_GT(refuted, 0);
}

// Four devices of one class that any two are connected as they like, and operators so long that all of them are worth
// using together.
Instance MakeReplicatedInstance(uint64_t seed) {
  RandomStream random(seed, 31);
  Instance instance;
  instance.cluster.device_classes.emplace_back().name = "gpu";
  instance.cluster.devices.resize(4);
  for (std::size_t i = 0; i < 4; ++i) instance.cluster.devices[i].name = "gpu" + std::to_string(i);
  MatrixInterconnect matrix{std::vector<double>(16), Picoseconds(random.Between(0, 3))};
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      matrix.bandwidth_bytes_per_second[4 * a + b] = 1e12 * static_cast<double>(1 + random.Below(6));
      matrix.bandwidth_bytes_per_second[4 * b + a] = matrix.bandwidth_bytes_per_second[4 * a + b];
    }
  }
  instance.cluster.interconnect = std::move(matrix);
  for (std::size_t i = 0; i < 3; ++i) {
    Operator& op = instance.graph.operators.emplace_back();
    op.name = "f" + std::to_string(i);
    op.costs = {{"gpu", Picoseconds(random.Between(0, 60)), Picoseconds(random.Between(0, 60))}};
    op.parameter_bytes = random.Between(0, 40);
    op.memory_bytes = 0;
    if (i > 0) {
      instance.graph.tensors.push_back(
          {"t" + std::to_string(i), OperatorId(random.Below(i)), {OperatorId(i)}, random.Between(0, 9), {}});
    }
  }
  PlanningProblem& problem = instance.problem;
  problem.replication = random.Below(2) == 0 ? Replication::kUniform : Replication::kPerStage;
  problem.overlap = random.Below(2) == 0 ? Overlap::kSerial : Overlap::kFullDuplex;
  if (random.Below(3) == 0) problem.allreduce.ring = AllReduce::Ring::kIndex;
  if (random.Below(3) == 0) problem.allreduce.charge = AllReduce::Charge::kPerMicroBatch;
  if (random.Below(3) == 0) problem.micro_batches = 6;
  return instance;
}

TEST(EnumerationTest, TakesTheBestRingOfFourReplicas) {
  int rings = 0;
  for (uint64_t seed = 0; seed < NumCases(60) && !::testing::Test::HasFailure(); ++seed) {
    const Case tried(MakeReplicatedInstance(seed));
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(tried.instance()));
    const absl::StatusOr<SearchOutcome> outcome = tried.Solve(tried.Request());
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(tried.Objection(outcome->placement), "");
    EXPECT_EQ(outcome->objective, NaiveJudge(tried.instance()).Optimum());
    if (outcome->placement.stages.front().devices.size() == 4) ++rings;
  }
  EXPECT_GT(rings, 10);
}

// The best of all sets of so many devices, each as a cluster of its own, whose links are as they were.
std::optional<Picoseconds> BestOfSubsets(const Instance& instance, std::size_t most) {
  std::optional<Picoseconds> best;
  const std::size_t count = instance.cluster.devices.size();
  for (uint32_t subset = 1; subset < (1U << count); ++subset) {
    Instance part = instance;
    for (std::size_t i = 0; i < count; ++i) {
      if ((subset & (1U << i)) == 0) part.problem.devices_to_use.excluded_devices.emplace_back(i);
    }
    if (count - part.problem.devices_to_use.excluded_devices.size() > most) continue;
    const Case tried(std::move(part));
    const absl::StatusOr<SearchOutcome> outcome = tried.Solve(tried.Request());
    if (outcome.ok()) best = std::min(best.value_or(outcome->objective), outcome->objective);
  }
  return best;
}

TEST(EnumerationTest, HeedsLimitsOnDevices) {
  constexpr int32_t kMost = 2;
  for (const InstanceMode mode : {InstanceMode::kTopology, InstanceMode::kNonContiguous, InstanceMode::kLatency}) {
    for (uint64_t seed = 0; seed < NumCases(25) && !::testing::Test::HasFailure(); ++seed) {
      const Instance instance = MakeModeInstance(mode, seed, 5);
      SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(instance));
      const std::optional<Picoseconds> best = BestOfSubsets(instance, kMost);
      Instance limited = instance;
      limited.problem.devices_to_use.max_devices = kMost;
      const Case by_problem(std::move(limited));
      const absl::StatusOr<SearchOutcome> outcome = by_problem.Solve(by_problem.Request());
      ASSERT_EQ(outcome.ok(), best.has_value()) << outcome.status();
      const Case by_request(instance);
      SearchRequest request = by_request.Request();
      DeviceLimit& limit = request.device_limits.emplace_back();
      limit.most = kMost;
      for (std::size_t i = 0; i < instance.cluster.devices.size(); ++i) limit.devices.emplace_back(i);
      const absl::StatusOr<SearchOutcome> same = by_request.Solve(request);
      ASSERT_EQ(same.ok(), best.has_value()) << same.status();
      if (!best.has_value()) continue;
      EXPECT_EQ(outcome->objective, *best);
      EXPECT_EQ(same->objective, *best);
      EXPECT_EQ(by_problem.Objection(outcome->placement), "");
    }
  }
}

// A chain of `operators` on `devices` that are all alike.
Instance MakeChainInstance(int operators, int devices, std::optional<int64_t> memory_bytes = std::nullopt) {
  Instance instance;
  for (int i = 0; i < operators; ++i) {
    Operator op = MeasuredOperator("f" + std::to_string(i), 1 + i % 3);
    op.memory_bytes = 10;
    instance.graph.operators.push_back(std::move(op));
    if (i > 0) {
      const auto before = static_cast<std::size_t>(i) - 1;
      instance.graph.tensors.push_back(TimedTensor("t" + std::to_string(i), before, {before + 1}, 1));
    }
  }
  instance.cluster = SmallCluster(devices, 0, HostStagedInterconnect(), memory_bytes);
  return instance;
}

Case MakeChainCase(int operators, int devices, std::optional<int64_t> memory_bytes = std::nullopt) {
  return Case(MakeChainInstance(operators, devices, memory_bytes));
}

// `operators` without order, so that every set of them may be a stage.
Instance MakeLooseInstance(int operators, int devices) {
  Instance instance = MakeChainInstance(operators, devices);
  instance.graph.tensors.clear();
  return instance;
}

// Every two devices are linked as no others are.
MatrixInterconnect DistinctLinks(std::size_t devices) {
  MatrixInterconnect matrix{std::vector<double>(devices * devices), Picoseconds(0)};
  double bandwidth = 1e9;
  for (std::size_t a = 0; a < devices; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      bandwidth += 1e6;
      matrix.bandwidth_bytes_per_second[devices * a + b] = bandwidth;
      matrix.bandwidth_bytes_per_second[devices * b + a] = bandwidth;
    }
  }
  return matrix;
}

TEST(EnumerationTest, CountsDevicesThatAreAlikeOnce) {
  // 1 + 3 + 3 + 1 ways to cut.
  EXPECT_EQ(CountPlacements(MakeChainCase(4, 4).Request()), 8);
  EXPECT_EQ(CountPlacements(MakeChainCase(4, 100).Request()), 8);
  EXPECT_EQ(CountPlacements(MakeChainCase(300, 2).Request()), 300);
  EXPECT_EQ(CountPlacements(MakeChainCase(60, 30).Request()), std::nullopt);
}

TEST(EnumerationTest, RefusesLargeClustersAtOnce) {
  Instance nodes = MakeChainInstance(64, 1'024);
  nodes.cluster.interconnect = HierarchyInterconnect{{{8, 1e11, Picoseconds(0)}, {128, 1e10, Picoseconds(0)}}};
  EXPECT_EQ(CountPlacements(Case(nodes).Request()), std::nullopt);
  for (const Replication replication : {Replication::kNone, Replication::kUniform, Replication::kPerStage}) {
    // As many as are not refused by their number.
    Instance fewer = MakeChainInstance(64, 256);
    fewer.cluster.interconnect = HierarchyInterconnect{{{8, 1e11, Picoseconds(0)}, {32, 1e10, Picoseconds(0)}}};
    fewer.problem.replication = replication;
    EXPECT_EQ(CountPlacements(Case(fewer).Request()), std::nullopt);
    Instance alike = MakeChainInstance(1'000, 1'024);
    alike.problem.replication = replication;
    EXPECT_EQ(CountPlacements(Case(alike).Request()), std::nullopt);
  }
}

TEST(EnumerationTest, RefusesManyDistinctLinksAtOnce) {
  Instance instance = MakeChainInstance(3, 256);
  instance.cluster.interconnect = DistinctLinks(256);
  EXPECT_EQ(CountPlacements(Case(instance).Request()), std::nullopt);
  instance.graph = MakeChainInstance(64, 1).graph;
  EXPECT_EQ(CountPlacements(Case(instance).Request()), std::nullopt);
}

TEST(EnumerationTest, RefusesLongChainsAtOnce) {
  for (const int devices : {1, 2, 1'000}) {
    EXPECT_EQ(CountPlacements(MakeChainCase(100'000, devices).Request()), std::nullopt);
  }
  EXPECT_EQ(CountPlacements(MakeChainCase(1'000, 1'000).Request()), std::nullopt);
  Instance shared = MakeChainInstance(1'000, 500);
  shared.problem.schedule = ScheduleKind::kPeriodic;
  shared.problem.split = Split::kNonContiguous;
  shared.problem.max_stages_per_device = 2;
  EXPECT_EQ(CountPlacements(Case(shared).Request()), std::nullopt);
}

TEST(EnumerationTest, HoldsTheLongestChainThatItTakes) {
  for (const Split split : {Split::kContiguous, Split::kNonContiguous}) {
    Instance instance = MakeChainInstance(1'000, 1);
    instance.problem.split = split;
    const Case tried(std::move(instance));
    EXPECT_EQ(CountPlacements(tried.Request()), 1);
    const absl::StatusOr<SearchOutcome> outcome = tried.Solve(tried.Request());
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(outcome->stop_reason, StopReason::kOptimal);
  }
}

TEST(EnumerationTest, SaysThatEveryPlacementWasTooLarge) {
  // Three operators of 10 bytes each, two devices of 15.
  const absl::StatusOr<SearchOutcome> outcome = MakeChainCase(3, 2, 15).Solve(MakeChainCase(3, 2, 15).Request());
  ASSERT_TRUE(InfeasibilityOf(outcome.status()).has_value()) << outcome.status();
  EXPECT_EQ(InfeasibilityOf(outcome.status())->shortages.front().resource, "memory");
}

TEST(EnumerationTest, ClaimsNothingWhereItWasCutOff) {
  const Case tried = MakeChainCase(8, 3);
  SolveLimits limits;
  limits.work = 2;
  const absl::StatusOr<SearchOutcome> nothing = tried.Solve(tried.Request(), limits);
  if (nothing.ok()) {
    EXPECT_EQ(nothing->stop_reason, StopReason::kWorkLimit);
    EXPECT_TRUE(nothing->bounds.empty());
  } else {
    EXPECT_TRUE(IsNoPlanFound(nothing.status())) << nothing.status();
  }
  const std::stop_source stop;
  stop.request_stop();
  limits = SolveLimits();
  limits.stop = stop.get_token();
  SearchRequest request = tried.Request();
  request.starts.push_back({tried.Solve(tried.Request())->placement, "warm_start"});
  const absl::StatusOr<SearchOutcome> started = tried.Solve(request, limits);
  ASSERT_TRUE(started.ok()) << started.status();
  EXPECT_LE(started->objective, tried.Callbacks().objective(request.starts.front().placement));
}

// The steps that a search goes on for after `stop` was called with the first placement, out of many thousand.
int64_t StepsAfterStop(const Case& tried, const SolveLimits& limits, const std::function<void()>& stop,
                       StopReason expected) {
  SearchCallbacks callbacks = tried.Callbacks();
  std::optional<int64_t> first;
  callbacks.on_incumbent = [&](const SearchOutcome&, int64_t work, std::string_view) {
    if (first.has_value()) return;
    first = work;
    stop();
  };
  TaskArena arena(1);
  const absl::StatusOr<SearchOutcome> outcome = SolveByEnumeration(tried.Request(), limits, arena, callbacks);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  if (!outcome.ok()) return 0;
  EXPECT_EQ(outcome->stop_reason, expected);
  EXPECT_TRUE(outcome->bounds.empty());
  return outcome->counters.at("work") - first.value_or(0);
}

TEST(EnumerationTest, StopsWithinSomeSteps) {
  Instance periodic = MakeLooseInstance(8, 3);
  periodic.problem.schedule = ScheduleKind::kPeriodic;
  Instance latency = MakeLooseInstance(8, 3);
  latency.problem.objective = Objective::kMinLatency;
  Instance shared = MakeLooseInstance(14, 3);
  shared.problem.split = Split::kNonContiguous;
  for (const Instance& instance : {MakeLooseInstance(14, 3), periodic, latency, shared}) {
    const Case tried(instance);
    ASSERT_TRUE(CountPlacements(tried.Request()).has_value());
    std::stop_source stop;
    SolveLimits stopped;
    stopped.stop = stop.get_token();
    const SolveLimits::Clock::time_point begin = SolveLimits::Clock::now();
    EXPECT_LE(StepsAfterStop(
                  tried, stopped, [&] { stop.request_stop(); }, StopReason::kCancelled),
              16);
    SolveLimits limited;
    // Not before there is a placement, which instrumented code takes long for.
    const SolveLimits::Clock::time_point now = SolveLimits::Clock::now();
    limited.deadline = now + 4 * (now - begin) + std::chrono::milliseconds(20);
    const auto wait = [&] { std::this_thread::sleep_until(limited.deadline); };
    EXPECT_LE(StepsAfterStop(tried, limited, wait, StopReason::kTimeLimit), 16);
  }
}

TEST(EnumerationTest, StopsWhereNoDeviceMayHoldAnything) {
  Instance instance = MakeLooseInstance(22, 2);
  for (std::size_t op = 0; op < 22; ++op) {
    for (std::size_t device = 0; device < 2; ++device) {
      instance.problem.forbidden.push_back({OperatorId(op), DeviceId(device)});
    }
  }
  const Case tried(std::move(instance));
  ASSERT_TRUE(CountPlacements(tried.Request()).has_value());
  const std::stop_source stop;
  stop.request_stop();
  SolveLimits limits;
  limits.stop = stop.get_token();
  EXPECT_EQ(tried.Solve(tried.Request(), limits).status().code(), absl::StatusCode::kCancelled);
}

TEST(EnumerationTest, KeepsToItsWork) {
  const Case tried(MakeLooseInstance(14, 3));
  for (const int64_t work : {100, 500}) {
    SolveLimits limits;
    limits.work = work;
    const absl::StatusOr<SearchOutcome> outcome = tried.Solve(tried.Request(), limits);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(outcome->stop_reason, StopReason::kWorkLimit);
    EXPECT_EQ(outcome->counters.at("work"), work);
  }
}

TEST(EnumerationTest, IsNeverWorseThanAStart) {
  const Case tried = MakeChainCase(8, 3);
  const absl::StatusOr<SearchOutcome> outcome = tried.Solve(tried.Request());
  ASSERT_TRUE(outcome.ok());
  SearchRequest request = tried.Request();
  request.starts.push_back({outcome->placement, "warm_start"});
  const absl::StatusOr<SearchOutcome> again = tried.Solve(request);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->objective, outcome->objective);
  EXPECT_EQ(again->stop_reason, StopReason::kOptimal);
  EXPECT_LE(again->counters.at("work"), outcome->counters.at("work"));
}

TEST(EnumerationTest, LeavesLargeProblemsAlone) {
  const Case tried = MakeChainCase(60, 30);
  EXPECT_TRUE(IsNoPlanFound(tried.Solve(tried.Request()).status()));
}

INSTANTIATE_TEST_SUITE_P(Modes, EnumerationModeTest,
                         ::testing::Values(ModeCase{"Contiguous", InstanceMode::kContiguous, 150, 7},
                                           ModeCase{"Replicated", InstanceMode::kReplicated, 100, 5},
                                           ModeCase{"Hierarchy", InstanceMode::kHierarchy, 100, 5},
                                           ModeCase{"Topology", InstanceMode::kTopology, 100, 5},
                                           ModeCase{"Steps", InstanceMode::kSteps, 100, 5},
                                           ModeCase{"TightMemory", InstanceMode::kTightMemory, 100, 5},
                                           ModeCase{"PerStageSteps", InstanceMode::kPerStageSteps, 80, 4},
                                           ModeCase{"Constrained", InstanceMode::kConstrained, 80, 5},
                                           ModeCase{"NonContiguous", InstanceMode::kNonContiguous, 150, 7},
                                           ModeCase{"Latency", InstanceMode::kLatency, 80, 6}),
                         [](const auto& mode_case) { return mode_case.param.name; });

}  // namespace
}  // namespace planwright
