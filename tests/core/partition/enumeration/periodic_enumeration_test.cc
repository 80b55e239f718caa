#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/cost/chain/chain_costs.h"
#include "core/cost/plan_costing.h"
#include "core/model/colocation.h"
#include "core/partition/enumeration/enumeration.h"
#include "core/partition/enumeration/forms.h"
#include "core/schedule/least_period.h"
#include "core/schedule/one_f_one_b_star.h"
#include "core/schedule/pattern_search.h"
#include "core/verify/verify.h"
#include "tests/property/cases.h"
#include "tests/support/mode_instance.h"

namespace planwright {
namespace {

// Every order of the unions, every way to cut it, every device for every stage, each with the shortest pattern that the
// verifier accepts: 1F1B* of contiguous stages, else what the pattern search finds.
class BruteForce {
 public:
  BruteForce(const Instance& instance, const ResolvedProblem& problem, const CostTable& costs)
      : instance_(instance), problem_(problem), costs_(costs) {
    const std::vector<int32_t> labels = ColocationUnions(instance.graph, problem);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == kDropped) continue;
      unions_.resize(std::max(unions_.size(), static_cast<std::size_t>(labels[i]) + 1));
      unions_[static_cast<std::size_t>(labels[i])].emplace_back(i);
    }
  }

  std::size_t num_unions() const { return unions_.size(); }

  // nullopt: there is no plan.
  std::optional<Picoseconds> Optimum() {
    std::vector<std::size_t> order(unions_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    do {
      Cut(order, 0);
    } while (std::next_permutation(order.begin(), order.end()));
    return best_;
  }

 private:
  void Cut(const std::vector<std::size_t>& order, std::size_t begin) {
    if (begin == order.size()) return Judge();
    for (std::size_t end = begin + 1; end <= order.size(); ++end) {
      // One order of the unions of a stage will do.
      if (end - begin > 1 && order[end - 2] > order[end - 1]) return;
      Placement::Stage stage;
      for (std::size_t i = begin; i < end; ++i) {
        stage.operators.insert(stage.operators.end(), unions_[order[i]].begin(), unions_[order[i]].end());
      }
      for (std::size_t device = 0; device < instance_.cluster.devices.size(); ++device) {
        if (instance_.cluster.class_of(DeviceId(device)).kind == DeviceKind::kCpu) continue;
        stage.devices = {DeviceId(device)};
        placement_.stages.push_back(stage);
        if (HasSeat()) Cut(order, end);
        placement_.stages.pop_back();
      }
    }
  }

  // Whether the last stage finds room on its device.
  bool HasSeat() const {
    const Placement::Stage& last = placement_.stages.back();
    const auto count = std::count_if(placement_.stages.begin(), placement_.stages.end(),
                                     [&](const Placement::Stage& stage) { return stage.devices == last.devices; });
    return count <= *problem_.max_stages_per_device;
  }

  void Judge() {
    std::vector<std::vector<OperatorId>> layers;
    ChainAllocation allocation;
    for (const Placement::Stage& stage : placement_.stages) {
      const auto layer = static_cast<int32_t>(layers.size());
      allocation.push_back({layer, layer, static_cast<int32_t>(stage.devices.front().index())});
      layers.push_back(stage.operators);
    }
    const DeviceId device = placement_.stages.front().devices.front();
    const Chain chain = MakeChain(instance_.graph, instance_.cluster.interconnect, problem_, costs_,
                                  instance_.cluster.devices[device.index()].device_class, layers);
    if (SharesDevices()) return JudgeShared(chain, allocation);
    Picoseconds all{1};
    for (const ChainLayer& layer : chain.layers) all += layer.forward + layer.backward;
    for (const ChainCut& cut : chain.cuts) all += cut.send_forward + cut.send_backward;
    const ChainDevices devices = Devices(std::nullopt);
    const Picoseconds longest = std::min(all, best_.value_or(all));
    const std::optional<Picoseconds> period = LeastPeriod(Picoseconds(1), longest, [&](Picoseconds target) {
      std::optional<OneFOneBStar> star = ScheduleOneFOneBStar(chain, allocation, devices, target);
      if (!star.has_value()) return std::optional<Picoseconds>();
      Placement whole = placement_;
      whole.pattern = std::move(star->pattern);
      const Verdict verdict = VerifyPlacement({instance_.graph, instance_.cluster, problem_}, whole);
      return verdict.violations.empty() ? std::optional(target) : std::nullopt;
    });
    if (period.has_value()) best_ = period;
  }

  ChainDevices Devices(std::optional<int64_t> memory_bytes) const {
    return {static_cast<int32_t>(instance_.cluster.devices.size()), memory_bytes,
            problem_.overlap == Overlap::kFullDuplex};
  }

  bool SharesDevices() const {
    std::set<DeviceId> used;
    for (const Placement::Stage& stage : placement_.stages) used.insert(stage.devices.front());
    return used.size() < placement_.stages.size();
  }

  // REQUIRES: accelerators have equal memory.
  void JudgeShared(const Chain& chain, const ChainAllocation& allocation) {
    std::optional<int64_t> memory_bytes =
        UsableMemoryBytes(instance_.cluster, placement_.stages.front().devices.front());
    if (memory_bytes.has_value()) {
      memory_bytes = std::max<int64_t>(0, *memory_bytes - problem_.memory_model.reserved_bytes);
    }
    PatternOutcome found = PatternSearch(chain, Devices(memory_bytes), allocation, SolveLimits());
    ASSERT_TRUE(found.is_proven);
    if (!found.pattern.has_value()) return;
    if (best_.has_value() && found.pattern->period >= *best_) return;
    Placement whole = placement_;
    whole.pattern = std::move(found.pattern);
    if (VerifyPlacement({instance_.graph, instance_.cluster, problem_}, whole).violations.empty()) {
      best_ = whole.pattern->period;
    }
  }

  const Instance& instance_;
  const ResolvedProblem& problem_;
  const CostTable& costs_;
  std::vector<std::vector<OperatorId>> unions_;
  Placement placement_;
  std::optional<Picoseconds> best_;
};

class PeriodicEnumerationTest : public ::testing::TestWithParam<Split> {};

TEST_P(PeriodicEnumerationTest, AgreesWithBruteForce) {
  const bool is_contiguous = GetParam() == Split::kContiguous;
  const std::size_t max_unions = is_contiguous ? 4 : 3;
  const std::size_t max_devices = is_contiguous ? 3 : 2;
  int solved = 0;
  int refuted = 0;
  for (uint64_t seed = 0; seed < NumCases(120) && !::testing::Test::HasFailure(); ++seed) {
    Instance instance = MakeModeInstance(InstanceMode::kPeriodic, seed, is_contiguous ? 5 : 4);
    instance.problem.split = GetParam();
    if (is_contiguous) instance.problem.max_stages_per_device.reset();
    if (instance.cluster.devices.size() > max_devices) continue;
    const ResolvedProblem problem = ResolveProblem(instance.graph, instance.problem);
    const CostTable costs(instance.graph, instance.cluster, problem.workload);
    BruteForce brute_force(instance, problem, costs);
    if (brute_force.num_unions() == 0 || brute_force.num_unions() > max_unions) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(instance));
    const SolverOptions options;
    const SearchRequest request{instance.graph, instance.cluster, problem, costs, options, Algorithm::kEnumeration, {}};
    if (!CountPlacements(request).has_value()) continue;
    SearchCallbacks callbacks;
    callbacks.objective = [&](const Placement& placement) {
      return CostPlan({instance.graph, instance.cluster, problem, costs}, placement).objective;
    };
    TaskArena arena(1);
    const absl::StatusOr<SearchOutcome> outcome =
        SolveByEnumeration(request, SolveLimits(), arena, callbacks.Silenced());
    const std::optional<Picoseconds> optimum = brute_force.Optimum();
    if (!outcome.ok()) {
      ++refuted;
      EXPECT_TRUE(InfeasibilityOf(outcome.status()).has_value()) << outcome.status();
      EXPECT_FALSE(optimum.has_value()) << outcome.status();
      continue;
    }
    ++solved;
    EXPECT_EQ(outcome->objective.count(), optimum.value_or(Picoseconds(-1)).count());
    EXPECT_EQ(outcome->stop_reason, StopReason::kOptimal);
    const Verdict verdict = VerifyPlacement({instance.graph, instance.cluster, problem}, outcome->placement);
    EXPECT_TRUE(verdict.violations.empty()) << verdict.violations.ToStatus();
  }
  EXPECT_GT(solved, 10);
  EXPECT_GT(refuted, 0);
}

// What enumeration says of a problem whose patterns are hard to find.
SearchOutcome EnumerateShared(uint64_t seed, int max_operators, const SolveLimits& limits) {
  Instance instance = MakeModeInstance(InstanceMode::kPeriodic, seed, max_operators);
  instance.problem.split = Split::kNonContiguous;
  const ResolvedProblem problem = ResolveProblem(instance.graph, instance.problem);
  const CostTable costs(instance.graph, instance.cluster, problem.workload);
  const SolverOptions options;
  const SearchRequest request{instance.graph, instance.cluster, problem, costs, options, Algorithm::kEnumeration, {}};
  EXPECT_TRUE(CountPlacements(request).has_value());
  SearchCallbacks callbacks;
  callbacks.objective = [&](const Placement& placement) {
    return CostPlan({instance.graph, instance.cluster, problem, costs}, placement).objective;
  };
  TaskArena arena(1);
  absl::StatusOr<SearchOutcome> outcome = SolveByEnumeration(request, limits, arena, callbacks.Silenced());
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *std::move(outcome) : SearchOutcome();
}

TEST(PeriodicWorkTest, CountsNodesOfPatternsAndClaimsNothingAtItsEnd) {
  for (const int64_t work : {500, 5'000}) {
    SolveLimits limits;
    limits.work = work;
    const SearchOutcome outcome = EnumerateShared(123, 14, limits);
    EXPECT_EQ(outcome.stop_reason, StopReason::kWorkLimit);
    EXPECT_TRUE(outcome.bounds.empty());
    EXPECT_EQ(outcome.counters.at("work"), work);
  }
}

TEST(PeriodicWorkTest, EndsByItselfWhereNoWorkIsGiven) {
  const SearchOutcome outcome = EnumerateShared(255, 20, SolveLimits());
  EXPECT_EQ(outcome.stop_reason, StopReason::kWorkLimit);
  EXPECT_TRUE(outcome.bounds.empty());
}

INSTANTIATE_TEST_SUITE_P(Splits, PeriodicEnumerationTest, ::testing::Values(Split::kContiguous, Split::kNonContiguous),
                         [](const auto& split) { return split.param == Split::kContiguous ? "Contiguous" : "Shared"; });

}  // namespace
}  // namespace planwright
