#include "core/partition/enumeration/enumeration.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/cost/plan_costing.h"
#include "core/verify/verify.h"
#include "tests/property/brute_force.h"
#include "tests/property/cases.h"
#include "tests/property/latency_brute_force.h"
#include "tests/support/mode_instance.h"

namespace planwright {
namespace {

// A request for the instance, and what its callbacks need.
class Case {
 public:
  explicit Case(Instance instance)
      : instance_(std::move(instance)),
        problem_(ResolveProblem(instance_.graph, instance_.problem)),
        costs_(instance_.graph, instance_.cluster, *problem_.workload) {}

  const Instance& instance() const { return instance_; }
  const PlanningProblem& problem() const { return problem_; }

  SearchRequest Request() const {
    return {instance_.graph, instance_.cluster, problem_, costs_, options_, Algorithm::kEnumeration, {}};
  }

  SearchCallbacks Callbacks() const {
    SearchCallbacks callbacks;
    callbacks.objective = [this](const Placement& placement) {
      return CostPlan(instance_.graph, instance_.cluster, problem_, costs_, placement).objective;
    };
    callbacks.objection = [this](const Placement& placement) { return Objection(placement); };
    return callbacks.Silenced();
  }

  // What the verifier has against a placement.
  std::string Objection(const Placement& placement) const {
    const Verdict verdict = VerifyPlacement(instance_.graph, instance_.cluster, problem_, placement);
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
  const PlanningProblem problem_;
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
  int uncounted = 0;
  int sizes[8] = {};
  for (uint64_t seed = 0; seed < NumCases(GetParam().instances) && !HasFailure(); ++seed) {
    const Case tried(MakeModeInstance(GetParam().mode, seed, GetParam().max_operators));
    const std::optional<int64_t> count = CountPlacements(tried.Request());
    if (!count.has_value()) {
      ++uncounted;
      continue;
    }
    const auto known = OptimumByBruteForce(GetParam().mode, tried.instance());
    if (!known.has_value()) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(tried.instance()));
    const absl::StatusOr<SearchOutcome> outcome = tried.Solve(tried.Request());
    if (!outcome.ok()) {
      ++refuted;
      EXPECT_TRUE(InfeasibilityOf(outcome.status()).has_value()) << outcome.status();
      EXPECT_FALSE(known->has_value()) << outcome.status() << ", but brute force finds " << (*known)->count();
      continue;
    }
    ++solved;
    for (auto& st : outcome->placement.stages) ++sizes[st.devices.size()];
    EXPECT_EQ(tried.Objection(outcome->placement), "");
    EXPECT_EQ(outcome->stop_reason, StopReason::kOptimal);
    ASSERT_FALSE(outcome->bounds.empty());
    EXPECT_EQ(outcome->bounds.back().value, outcome->objective);
    EXPECT_LE(outcome->counters.at("placements"), *count);
    EXPECT_EQ(outcome->objective.count(), known->value_or(Picoseconds(-1)).count());
  }
  EXPECT_GT(solved, 20);
  EXPECT_GT(refuted, 0);
  std::cerr << GetParam().name << " solved " << solved << " refuted " << refuted << " uncounted " << uncounted
            << " sizes " << sizes[1] << " " << sizes[2] << " " << sizes[3] << " " << sizes[4] << " " << sizes[5]
            << "\n";
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
