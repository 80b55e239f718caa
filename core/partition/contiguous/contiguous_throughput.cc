#include "core/partition/contiguous/contiguous_throughput.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "core/base/index.h"
#include "core/base/infeasibility.h"
#include "core/base/limits.h"
#include "core/cost/terms/transfer.h"
#include "core/graph/digraph.h"
#include "core/model/colocation.h"
#include "core/partition/contiguous/block_split.h"
#include "core/partition/contiguous/fan_out_dp.h"
#include "core/partition/contiguous/grouped_dp.h"
#include "core/partition/contiguous/ideal_dp.h"
#include "core/partition/contiguous/linearized_dp.h"
#include "core/partition/contiguous/phase_sweep.h"
#include "core/partition/search/block_instance.h"
#include "core/partition/search/block_merging.h"
#include "core/partition/search/feasibility.h"
#include "core/partition/search/load_windows.h"
#include "core/partition/search/search_record.h"

namespace planwright {
namespace {

constexpr char kIdealDpName[] = "ideal_dp";
constexpr char kHierarchicalDpName[] = "hierarchical_dp";
constexpr char kLinearizedDpName[] = "linearized_dp";
constexpr char kGreedyName[] = "greedy";
constexpr char kGroupedDpName[] = "grouped_dp";
constexpr char kFanOutDpName[] = "fan_out_dp";
constexpr char kPhaseSweepName[] = "forward_cap_sweep";
// Times that the costs of producers are raised for a better incumbent.
constexpr int kMaxFanOutRounds = 3;
// Ends the search that counts readers: with more ideals or work their pairs take too long.
constexpr int64_t kMaxReaderIdeals = 8192;
constexpr int64_t kMaxReaderWork = int64_t{1} << 17U;
// Longer orders are cut in fewer places (block_merging.h).
constexpr std::size_t kMaxPositions = 4096;
// Ends the search over groups where it gets long: what it can prove is a small part of most gaps.
constexpr int64_t kMaxGroupedWork = int64_t{1} << 20U;
// More states than this take longer to list than a plan is worth: greedy plans must do.
constexpr std::size_t kMaxListedStates = std::size_t{1} << 18U;

std::vector<OperatorId> OperatorsOf(const BlockInstance& instance, const std::vector<int32_t>& blocks) {
  std::vector<OperatorId> all;
  for (const int32_t block : blocks) {
    const auto& operators = instance.operators[static_cast<std::size_t>(block)];
    all.insert(all.end(), operators.begin(), operators.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

// Stages of blocks to stages of operators on devices, pools in device order.
Placement ToPlacement(const BlockInstance& instance, const BlockSplit& split) {
  std::vector<std::size_t> next_device(instance.pools.size(), 0);
  Placement placement;
  for (const BlockSplit::Stage& stage : split.stages) {
    Placement::Stage& placed = placement.stages.emplace_back();
    placed.operators = OperatorsOf(instance, stage.blocks);
    for (int64_t replica = 0; replica < stage.replicas; ++replica) {
      placed.devices.push_back(instance.pools[stage.pool].devices[next_device[stage.pool]++]);
    }
  }
  return placement;
}

// Stages of blocks to stages of operators on the devices of their groups. REQUIRES: one pool.
Placement ToPlacement(const BlockInstance& instance, const Grouping& grouping, const GroupedSplit& split) {
  std::vector<int32_t> used(static_cast<std::size_t>(grouping.groups), 0);
  Placement placement;
  for (const GroupedSplit::Stage& stage : split.stages) {
    Placement::Stage& placed = placement.stages.emplace_back();
    placed.operators = OperatorsOf(instance, stage.blocks);
    const int32_t device = stage.group * grouping.size + used[static_cast<std::size_t>(stage.group)]++;
    placed.devices = {instance.pools.front().devices[static_cast<std::size_t>(device)]};
  }
  return placement;
}

// The innermost groups of a hierarchy.
Grouping GroupingOf(const Cluster& cluster) {
  const auto devices = static_cast<int32_t>(cluster.devices.size());
  const auto* hierarchy = std::get_if<HierarchyInterconnect>(&cluster.interconnect);
  if (hierarchy == nullptr) return {1, devices};
  for (const HierarchyInterconnect::Level& level : hierarchy->levels) {
    if (level.fan_out > 1) return {devices / level.fan_out, level.fan_out};
  }
  return {1, devices};
}

// The stages of `placement` as stages of blocks. REQUIRES: no block is torn apart.
BlockSplit ToSplit(const BlockInstance& instance, std::size_t num_operators, const Placement& placement) {
  std::vector<std::size_t> stage_of(num_operators, 0);
  for (std::size_t stage = 0; stage < placement.stages.size(); ++stage) {
    for (const OperatorId op : placement.stages[stage].operators) stage_of[op.index()] = stage;
  }
  BlockSplit split;
  split.stages.resize(placement.stages.size());
  for (int32_t block = 0; block < instance.num_blocks(); ++block) {
    const OperatorId first = instance.operators[static_cast<std::size_t>(block)].front();
    split.stages[stage_of[first.index()]].blocks.push_back(block);
  }
  for (std::size_t stage = 0; stage < placement.stages.size(); ++stage) {
    const DeviceId device = placement.stages[stage].devices.front();
    const auto holds = [&](const DevicePool& pool) {
      return std::binary_search(pool.devices.begin(), pool.devices.end(), device);
    };
    const auto pool = std::find_if(instance.pools.begin(), instance.pools.end(), holds);
    split.stages[stage].pool = static_cast<std::size_t>(pool - instance.pools.begin());
    split.stages[stage].replicas = static_cast<int64_t>(placement.stages[stage].devices.size());
  }
  split.max_load = SplitLoad(instance, split);
  return split;
}

// What is planned without links between groups of devices.
Modes PlannedModes() {
  return ThroughputModes({"host_staged", "uniform"}, SchedulesOfLoads(), {Replication::kNone, Replication::kPerStage},
                         {Split::kContiguous},
                         "contiguous stages of greatest throughput in the limit of many micro-batches, inference and "
                         "training, one stage per device, replicated or not");
}

const char* NameOf(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kLinearizedDp:
      return kLinearizedDpName;
    case Algorithm::kHierarchicalDp:
      return kHierarchicalDpName;
    default:
      return kIdealDpName;
  }
}

class Solver : RecordedSearch {
 public:
  Solver(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, const SearchCallbacks& callbacks)
      : RecordedSearch(NameOf(request.algorithm), request, limits, arena, callbacks),
        name_(NameOf(request.algorithm)),
        is_exact_(request.algorithm != Algorithm::kLinearizedDp) {}

  // First with the fewest blocks, which is enough unless memory limits decide; then with the exact ones.
  absl::StatusOr<SearchOutcome> Run() {
    OfferStarts();
    const BlockInstance merged = Build(MergeRule::kIgnoreMemory);
    if (StateSpace(merged).size() > kMaxListedStates) return RunWithoutStates();
    const bool memory_can_bind = std::any_of(merged.pools.begin(), merged.pools.end(),
                                             [&](const DevicePool& pool) { return MemoryCanBind(merged, pool); });
    replicas_are_confined_ = merged.rule.replicates && HasDividedClasses(merged);
    if (merged.rule.replicates && !RulesOf(request_.cluster.interconnect).pay_once) OfferWithoutReplicas();
    const bool is_sound = !FindShortages(request_.graph, request_.cluster, merged).has_value();
    if (is_sound && !memory_can_bind) {
      Search(merged, /*prove_without_memory=*/false);
      return Finish(merged);
    }
    const BlockInstance exact = Build(MergeRule::kExact);
    const std::optional<Infeasibility> shortages = FindShortages(request_.graph, request_.cluster, exact);
    if (shortages.has_value()) return InfeasibleError(*shortages);
    const bool has_merged = merged.num_blocks() < exact.num_blocks();
    if (has_merged && is_sound && !Search(merged, /*prove_without_memory=*/true)) return Finish(merged);
    if (has_merged && best_split_.has_value()) {
      best_split_ = ToSplit(exact, request_.graph.operators.size(), ToPlacement(merged, *best_split_));
    }
    Search(exact, /*prove_without_memory=*/false);
    return Finish(exact);
  }

 private:
  int64_t lower_bound() const { return record_.lower_bound().count(); }

  // Replicas of a stage are in one pool. Where different memory divides a class and no memory limit decides, the class
  // is one pool.
  BlockInstance Build(MergeRule rule) const {
    BlockInstance instance = BuildBlockInstance(request_, rule);
    const bool memory_can_bind = std::any_of(instance.pools.begin(), instance.pools.end(),
                                             [&](const DevicePool& pool) { return MemoryCanBind(instance, pool); });
    return instance.rule.replicates && !memory_can_bind ? WithJoinedClasses(std::move(instance)) : instance;
  }

  // Where a search for replicas is inexact, one that knows of none may find better plans.
  void OfferWithoutReplicas() {
    ResolvedProblem problem = request_.problem;
    problem.replication = Replication::kNone;
    SolverOptions options = request_.options;
    options.work_limit.reset();
    SearchRequest single{request_.graph, request_.cluster,   problem, request_.costs,
                         options,        request_.algorithm, {},      request_.target};
    for (const SearchStart& start : request_.starts) {
      const auto is_single = [](const Placement::Stage& stage) { return stage.devices.size() == 1; };
      const auto& stages = start.placement.stages;
      if (std::all_of(stages.begin(), stages.end(), is_single)) single.starts.push_back(start);
    }
    SolveLimits limits = ShareOfRemainingTime(limits_, 2);
    limits.work = LimitsLeft().work / 2;
    const SearchCallbacks silent = callbacks_.Silenced();
    absl::StatusOr<SearchOutcome> found = Solver(single, limits, arena_, silent).Run();
    if (!found.ok()) return;
    record_.AddWork(found->work);
    record_.Offer(std::move(found->placement), found->fallback.empty() ? found->algorithm : found->fallback);
  }

  // True of all placements, those with replicas in several pools included.
  void RaiseElementaryBounds(const BlockInstance& instance, const LoadWindows& windows) {
    if (!replicas_are_confined_) {
      for (const Bound& bound : ElementaryBounds(instance, windows)) RaiseBound(bound);
      return;
    }
    const BlockInstance joined = WithJoinedClasses(instance);
    for (const Bound& bound : ElementaryBounds(joined, LoadWindows(joined))) record_.RaiseBound(bound);
  }

  // Too many combinations of device kinds to go through: what needs none of them.
  absl::StatusOr<SearchOutcome> RunWithoutStates() {
    const BlockInstance exact = Build(MergeRule::kExact);
    const std::optional<Infeasibility> shortages = FindShortages(request_.graph, request_.cluster, exact);
    if (shortages.has_value()) return InfeasibleError(*shortages);
    for (const Bound& bound : ElementaryBounds(exact, LoadWindows(exact))) RaiseBound(bound);
    for (const std::vector<int32_t>& order : Orders(exact)) {
      const std::optional<BlockSplit> greedy = GreedySplit(exact, order, lower_bound());
      if (greedy.has_value()) Offer(exact, *greedy, kGreedyName);
    }
    if (!record_.has_placement()) {
      return absl::ResourceExhaustedError(
          "the cluster has too many combinations of device kinds: use fewer device classes or fewer devices");
    }
    record_.set_stop_reason(StopReason::kMemoryLimit);
    record_.NameFallback();
    return Finish(exact);
  }

  // True: memory limits decide, so the search must be done on the exact blocks.
  bool Search(const BlockInstance& instance, bool prove_without_memory) {
    const LoadWindows windows(instance);
    RaiseElementaryBounds(instance, windows);
    const bool was_cut_off = !FindFirstSplits(instance, windows);
    record_.counters()["blocks"] = instance.num_blocks();
    record_.counters()["nets"] = static_cast<int64_t>(instance.nets.size());
    if (is_exact_) {
      return SearchWithFanOut(instance, windows, prove_without_memory) ||
             (IsOpen() && instance.rule.has_phases && SweepPhases(instance, prove_without_memory)) ||
             SearchGroups(instance, prove_without_memory);
    }
    SettleLinearized(was_cut_off);
    return prove_without_memory && !record_.has_placement() && !was_cut_off;
  }

  // The exact search, with what producers must pay in any plan that is better than the incumbent. A better incumbent
  // makes them pay more, so the search is repeated while that helps. True: as Search.
  bool SearchWithFanOut(const BlockInstance& instance, const LoadWindows& windows, bool prove_without_memory) {
    for (int round = 0; round < kMaxFanOutRounds && record_.has_placement(); ++round) {
      const Picoseconds objective = record_.objective();
      if (objective <= record_.lower_bound()) return false;
      // Only plans are of interest that are better and within the target.
      const Picoseconds limit = std::min(objective - Picoseconds(1), request_.target.value_or(objective));
      const std::optional<BlockInstance> raised = WithFanOutCosts(instance, limit.count(), limits_);
      if (!raised.has_value()) break;
      const LoadWindows raised_windows(*raised);
      if (best_split_.has_value()) best_split_->max_load = SplitLoad(*raised, *best_split_);
      bound_limit_ = limit + Picoseconds(1);
      if (SearchIdeals(*raised, raised_windows, prove_without_memory)) return true;
      bound_limit_ = Picoseconds(kMaxQuantity);
      if (record_.objective() == objective || record_.stop_reason() != StopReason::kExhausted) return false;
    }
    if (best_split_.has_value()) best_split_->max_load = SplitLoad(instance, *best_split_);
    return SearchIdeals(instance, windows, prove_without_memory);
  }

  // Counts the devices that read each tensor, which is exact where all devices are connected alike.
  void SearchReaders() {
    if (!IsOpen() || !std::holds_alternative<UniformInterconnect>(request_.cluster.interconnect)) return;
    const BlockInstance instance = Build(MergeRule::kNever);
    if (!CanCountReaders(instance) || instance.num_blocks() > kMaxFanOutBlocks) return;
    SolveLimits limits = LimitsLeft();
    limits.work = std::min(limits.work, kMaxReaderWork);
    IdealDpOptions options = OptionsFor(/*prove_without_memory=*/false);
    options.max_ideals = std::min(options.max_ideals, kMaxReaderIdeals);
    const FanOutDpListener listener{[&](const BlockSplit& split) {
                                      record_.Offer(ToPlacement(instance, split), name_);
                                      return record_.objective().count();
                                    },
                                    [&](int64_t bound) {
                                      RaiseBound({Picoseconds(bound), kFanOutDpName, BoundScope::kProblem});
                                    }};
    const LoadWindows windows(instance);
    const int64_t work_bound = windows.WorkBound(TrivialLoadBound(instance));
    Count(SolveByFanOutDp(instance, windows, std::max(lower_bound(), work_bound), record_.objective().count(), options,
                          limits, arena_, listener));
  }

  // The search was complete, yet there is a gap.
  bool IsOpen() const {
    return record_.has_placement() && !record_.is_settled() && record_.stop_reason() == StopReason::kExhausted;
  }

  // GPIPE: after the bottleneck of both passes, the sum of their bottlenecks. True: as Search.
  bool SweepPhases(const BlockInstance& instance, bool prove_without_memory) {
    const SolveLimits limits = LimitsLeft();
    const PhaseSweepListener listener{
        [&](const BlockSplit& split) {
          Offer(instance, split, name_);
          return record_.objective().count();
        },
        [&](int64_t bound) {
          RaiseBound({Picoseconds(bound), kPhaseSweepName, BoundScope::kProblem, /*pays_once=*/true});
        }};
    const PhaseSweepOutcome sweep = SweepForwardCaps(instance, lower_bound(), record_.objective().count(),
                                                     OptionsFor(prove_without_memory), limits, arena_, listener);
    Count(sweep);
    record_.counters()["caps"] += sweep.caps;
    return Settle(sweep.end);
  }

  // A hierarchy: plans inside one group, plans that pay dearly everywhere, then the program that knows the groups,
  // first through one after the other. True: as Search.
  bool SearchGroups(const BlockInstance& instance, bool prove_without_memory) {
    const Grouping grouping = GroupingOf(request_.cluster);
    if (!IsOpen() || grouping.groups < 2 || instance.pools.size() != 1) return false;
    ProposeNarrower(instance, grouping);
    if (!CanGroup(instance, grouping, GroupOrder::kRuns)) {
      ProposeSerial(instance, grouping);
      return false;
    }
    return (IsOpen() && SearchGroups(instance, grouping, GroupOrder::kRuns, prove_without_memory)) ||
           (IsOpen() && CanGroup(instance, grouping, GroupOrder::kAny) &&
            SearchGroups(instance, grouping, GroupOrder::kAny, prove_without_memory));
  }

  // Offers plans inside one group, and plans that pay dearly everywhere. Returns the least max load among them, by the
  // rule of `instance`: no plan is needed above it.
  int64_t ProposeNarrower(const BlockInstance& instance, const Grouping& grouping) {
    BlockInstance one_group = instance;
    one_group.pools.front().devices.resize(static_cast<std::size_t>(grouping.size));
    BlockInstance all_far = instance;
    for (Net& net : all_far.nets) net.weight += net.far_surcharge;
    if (all_far.rule.ring.has_value()) all_far.rule.ring->speed = request_.costs.network().SlowestLink();
    return std::min(ProposeFrom(one_group), ProposeFrom(all_far));
  }

  // Offers the plans of another instance with the same blocks, within a small part of the work. Returns the least load.
  int64_t ProposeFrom(const BlockInstance& narrower) {
    const LoadWindows windows(narrower);
    SolveLimits limits = LimitsLeft();
    limits.work = std::min(limits.work, kMaxGroupedWork / 16);
    const IdealDpListener listener{[&](const BlockSplit& split) { record_.Offer(ToPlacement(narrower, split), name_); },
                                   nullptr};
    const IdealDpOutcome search =
        SolveByIdealDp(narrower, windows, 0, std::nullopt, OptionsFor(false), limits, arena_, listener);
    Count(search);
    return search.best.has_value() ? search.best->max_load : TrivialLoadBound(narrower);
  }

  // Offers plans without replicas and overlap, which the program that knows the groups can make: under the rule of the
  // problem they are no slower, and better than plans that do not look at groups.
  void ProposeSerial(const BlockInstance& instance, const Grouping& grouping) {
    BlockInstance serial = instance;
    serial.rule = LoadRule();
    const int64_t least = ProposeNarrower(serial, grouping);
    if (!CanGroup(serial, grouping, GroupOrder::kRuns)) return;
    SolveLimits limits = LimitsLeft();
    limits.work = std::min(limits.work, kMaxGroupedWork);
    const BlockInstance raised = WithFanOutCosts(serial, least, limits_).value_or(serial);
    // Loads of the two rules do not compare: only the plans are of use.
    const GroupedDpListener listener{[&](const GroupedSplit& split) {
                                       record_.Offer(ToPlacement(raised, grouping, split), name_);
                                       return kMaxQuantity;
                                     },
                                     nullptr};
    const LoadWindows windows(raised);
    Count(SolveByGroupedDp(raised, grouping, GroupOrder::kRuns, windows.WorkBound(TrivialLoadBound(raised)), least,
                           OptionsFor(false), limits, arena_, listener));
  }

  // With what goes between groups at its price. What is proven holds for plans better than the incumbent,
  // whose producers pay what such plans force them to. True: as Search.
  bool SearchGroups(const BlockInstance& instance, const Grouping& grouping, GroupOrder order,
                    bool prove_without_memory) {
    const Picoseconds objective = record_.objective();
    const BlockInstance raised = WithFanOutCosts(instance, objective.count() - 1, limits_).value_or(instance);
    SolveLimits limits = LimitsLeft();
    limits.work = std::min(limits.work, kMaxGroupedWork);
    const GroupedDpListener listener{
        [&](const GroupedSplit& split) {
          record_.Offer(ToPlacement(raised, grouping, split), name_);
          return record_.objective().count();
        },
        [&](int64_t bound) {
          RaiseBound({Picoseconds(bound), kGroupedDpName, BoundScope::kProblem, /*pays_once=*/true});
        }};
    bound_limit_ = objective;
    const IdealDpRun search = SolveByGroupedDp(raised, grouping, order, lower_bound(), objective.count(),
                                               OptionsFor(prove_without_memory), limits, arena_, listener);
    bound_limit_ = Picoseconds(kMaxQuantity);
    Count(search);
    return Settle(search.end);
  }

  absl::StatusOr<SearchOutcome> Finish(const BlockInstance& instance) {
    if (proven_infeasible_ && !replicas_are_confined_) return InfeasibleError(NoSplitFits(request_.graph, instance));
    if (is_exact_) SearchReaders();
    return std::move(record_).Finish(
        is_exact_ ? "there may be a plan with replicas on devices of different memory, which are not searched; reserve "
                    "as much memory on all devices of a class"
                  : "the linear orders tried hold no plan that fits, which proves nothing; use the algorithm IDEAL_DP");
  }

  void RaiseBound(Bound bound) {
    if (replicas_are_confined_) return;
    bound.value = std::min(bound.value, bound_limit_);
    record_.RaiseBound(std::move(bound));
  }

  // Takes `split` as the placement if its true objective is better.
  void Offer(const BlockInstance& instance, const BlockSplit& split, std::string_view algorithm) {
    if (!best_split_.has_value() || split.max_load < best_split_->max_load) best_split_ = split;
    record_.Offer(ToPlacement(instance, split), algorithm);
  }

  static std::vector<std::vector<int32_t>> Orders(const BlockInstance& instance) {
    const std::size_t num_blocks = instance.operators.size();
    return {FirstNumbers(num_blocks),
            DepthFirstTopologicalOrder(instance.precedence, FirstNumbers<int64_t>(num_blocks))};
  }

  // Greedy for a plan at once, then the linearized program along two orders. Splits without replicas come first: there
  // are so many fewer that they are found in much less time. False: the limits cut it off.
  bool FindFirstSplits(const BlockInstance& instance, const LoadWindows& windows) {
    if (instance.rule.replicates) {
      BlockInstance single = instance;
      single.rule.replicates = false;
      if (!FindFirstSplits(single, LoadWindows(single))) return false;
    }
    callbacks_.on_phase(kLinearizedDpName);
    for (const std::vector<int32_t>& order : Orders(instance)) {
      const std::optional<BlockSplit> greedy = GreedySplit(instance, order, lower_bound());
      if (greedy.has_value()) Offer(instance, *greedy, kGreedyName);
      // Below, the load to beat would be less than any plan's, even negative.
      if (best_split_.has_value() && best_split_->max_load <= lower_bound()) return true;
      const int64_t max_load = best_split_.has_value() ? best_split_->max_load - 1 : TrivialLoadBound(instance);
      bool was_interrupted = false;
      const auto split = BestAlong(instance, windows, order, max_load, was_interrupted);
      if (was_interrupted) return false;
      if (split.has_value()) Offer(instance, *split, kLinearizedDpName);
    }
    return true;
  }

  // The linearized program, with fewer places to cut where the order is long. `was_interrupted`: by the limits.
  std::optional<BlockSplit> BestAlong(const BlockInstance& instance, const LoadWindows& windows,
                                      const std::vector<int32_t>& order, int64_t max_load,
                                      bool& was_interrupted) const {
    if (order.size() <= kMaxPositions) {
      return LinearizedSplit(instance, windows, order, max_load, limits_, was_interrupted);
    }
    const std::vector<int32_t> runs = RunsOf(instance, order, kMaxPositions);
    std::vector<int32_t> run_of_operator(request_.graph.operators.size(), kDropped);
    for (std::size_t block = 0; block < runs.size(); ++block) {
      for (const OperatorId op : instance.operators[block]) run_of_operator[op.index()] = runs[block];
    }
    BlockInstance coarse = AssembleUnordered(request_, run_of_operator);
    coarse.rule = instance.rule;
    const std::vector<int32_t> natural = FirstNumbers(coarse.operators.size());
    const LoadWindows coarse_windows(coarse);
    const auto split = LinearizedSplit(coarse, coarse_windows, natural, max_load, limits_, was_interrupted);
    if (!split.has_value()) return std::nullopt;
    return ToSplit(instance, request_.graph.operators.size(), ToPlacement(coarse, *split));
  }

  // Returns true where Search does.
  bool SearchIdeals(const BlockInstance& instance, const LoadWindows& windows, bool prove_without_memory) {
    callbacks_.on_phase(name_);
    const SolveLimits limits = LimitsLeft();
    const IdealDpListener listener{[&](const BlockSplit& split) { Offer(instance, split, name_); },
                                   [&](int64_t bound) {
                                     RaiseBound({Picoseconds(bound), name_, BoundScope::kProblem, /*pays_once=*/true});
                                   }};
    const IdealDpOutcome search = SolveByIdealDp(instance, windows, lower_bound(), best_split_,
                                                 OptionsFor(prove_without_memory), limits, arena_, listener);
    Count(search);
    record_.counters()["polish_rounds"] += search.polish_rounds;
    proven_infeasible_ = search.end == IdealDpEnd::kInfeasible;
    return Settle(search.end);
  }

  IdealDpOptions OptionsFor(bool prove_without_memory) const {
    IdealDpOptions options;
    if (request_.options.ideal_limit.has_value()) options.max_ideals = *request_.options.ideal_limit;
    // A gap in pay-once loads says nothing of the gap in true ones.
    if (RulesOf(request_.cluster.interconnect).pay_once) options.relative_gap = request_.options.relative_gap;
    options.prove_without_memory = prove_without_memory;
    if (request_.target.has_value()) options.first_target = request_.target->count();
    return options;
  }

  SolveLimits LimitsLeft() const {
    SolveLimits limits = limits_;
    limits.work = request_.options.work_limit.value_or(limits_.work) - record_.work();
    return limits;
  }

  template <typename Outcome>
  void Count(const Outcome& search) {
    record_.AddWork(search.work);
    int64_t& most_ideals = record_.counters()["ideals"];
    most_ideals = std::max(most_ideals, search.ideals);
    record_.counters()["passes"] += search.passes;
    record_.ReportWork();
  }

  // Returns true where Search does.
  bool Settle(IdealDpEnd end) {
    if (end == IdealDpEnd::kMemoryMatters) return true;
    record_.set_stop_reason(StopReasonOf(end));
    const bool was_limited =
        end != IdealDpEnd::kProven && end != IdealDpEnd::kInfeasible && end != IdealDpEnd::kGapReached;
    if (was_limited) record_.NameFallback();
    return false;
  }

  // What the search knows; whether the plan is optimal or within the gap is for SettleStopReason.
  static StopReason StopReasonOf(IdealDpEnd end) {
    switch (end) {
      case IdealDpEnd::kProven:
      case IdealDpEnd::kInfeasible:
      case IdealDpEnd::kMemoryMatters:
      case IdealDpEnd::kGapReached:
        return StopReason::kExhausted;
      case IdealDpEnd::kWorkLimit:
        return StopReason::kWorkLimit;
      case IdealDpEnd::kDeadline:
        return StopReason::kTimeLimit;
      case IdealDpEnd::kCancelled:
        return StopReason::kCancelled;
      case IdealDpEnd::kTooManyIdeals:
        return StopReason::kIdealLimit;
      case IdealDpEnd::kTooMuchMemory:
        return StopReason::kMemoryLimit;
    }
    return StopReason::kExhausted;
  }

  void SettleLinearized(bool was_cut_off) {
    if (was_cut_off) record_.set_stop_reason(planwright::StopReasonOf(limits_, StopReason::kMemoryLimit));
  }

  const char* const name_;
  const bool is_exact_;

  // What is proven holds for plans better than this only.
  Picoseconds bound_limit_{kMaxQuantity};
  // The split of least pay-once load; record_.placement() is the one of least true cost.
  std::optional<BlockSplit> best_split_;
  bool proven_infeasible_ = false;
  // Replicas in several pools are not looked at, so that what the search proves does not hold for all placements.
  bool replicas_are_confined_ = false;
};

}  // namespace

absl::StatusOr<SearchOutcome> SolveContiguousThroughput(const SearchRequest& request, const SolveLimits& limits,
                                                        TaskArena& arena, const SearchCallbacks& callbacks) {
  callbacks.on_phase("preprocess");
  return Solver(request, limits, arena, callbacks).Run();
}

AlgorithmRow IdealDpRow() {
  return {.algorithm = Algorithm::kIdealDp,
          .name = kIdealDpName,
          .version = "3",
          .description =
              "exact dynamic program over ideals (Tarnawski et al., Efficient algorithms for device "
              "placement of DNN graph operators, 2020, 5.1.1)",
          .work_unit = "ideals enumerated or queried",
          .solve = SolveContiguousThroughput,
          .modes = {PlannedModes()}};
}

AlgorithmRow LinearizedDpRow() {
  return {.algorithm = Algorithm::kLinearizedDp,
          .name = kLinearizedDpName,
          .version = "3",
          .description = "dynamic program along one linear order of the operators (Tarnawski et al. 2020, 5.1.2)",
          .work_unit = "none: it always runs to its end",
          .solve = SolveContiguousThroughput,
          .modes = {},
          .modes_by_name = {PlannedModes()}};
}

AlgorithmRow HierarchicalDpRow() {
  return {.algorithm = Algorithm::kHierarchicalDp,
          .name = kHierarchicalDpName,
          .version = "3",
          .description =
              "dynamic programs over ideals and linear orders on a hierarchy of devices (Tarnawski et al. 2020, C.3)",
          .work_unit = "ideals enumerated or queried",
          .solve = SolveContiguousThroughput,
          .modes = {ThroughputModes({"hierarchy"}, SchedulesOfLoads(), {Replication::kNone, Replication::kPerStage},
                                    {Split::kContiguous},
                                    "the same on devices in groups of groups, slower links between them")}};
}

}  // namespace planwright
