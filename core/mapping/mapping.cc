#include "core/mapping/mapping.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "core/base/index.h"
#include "core/base/limits.h"
#include "core/mapping/anneal/mapping_annealing.h"
#include "core/mapping/problem/mapping_tables.h"
#include "core/mapping/problem/stage_kinds.h"
#include "core/mapping/prove/device_symmetry.h"
#include "core/mapping/prove/load_bounds.h"
#include "core/mapping/prove/load_prover.h"
#include "core/mapping/prove/machine_tiles.h"
#include "core/mapping/prove/replica_cover_search.h"
#include "core/mapping/prove/replica_model.h"
#include "core/mapping/prove/replica_repair.h"
#include "core/mapping/prove/ring_bounds.h"

namespace planwright {
namespace {

constexpr double kRounding = 1e-9;
constexpr double kMostGap = 0.99;
constexpr double kNearlyClosed = 1e-6;
// Exact searches count steps of some twenty nanoseconds; that many take as long as a device moved on trial.
constexpr int64_t kStepsPerUnit = 12;
// Work of each task in the first round, and most; the last is some tenths of a second.
constexpr int64_t kFirstRound = 4'000;
constexpr int64_t kMostOfRound = 800'000;
// Exact rounds come before annealing until they have had that much. Then they get as much as annealing while they bring
// as much for their work; or a share of it, and where they only prove.
constexpr int64_t kExactHeadStart = 100'000;
// Of a yield, every turn.
constexpr double kFading = 0.8;
constexpr int64_t kLesserShare = 6;
// Devices of a tile at most, ways to tile that are tried, and work for each.
constexpr int32_t kMostOfTile = 64;
constexpr std::size_t kMostTilings = 12;
constexpr int64_t kTileWork = 200'000;
// Work for each of the paper's instantiations, and into how many shares time and work are divided for it.
constexpr int64_t kInstantiationWork = 2'000'000;
constexpr std::size_t kSharesOfInstantiation = 5;
// Nodes of the quotient bound at most, work for each, and the share of the work that they may take.
constexpr int64_t kQuotientNodes = 200'000;
constexpr int64_t kWorkOfNode = 4;
constexpr int64_t kQuotientShare = 4;
// Tables, lists and symmetry look at every pair of devices some times: so many pairs for a unit.
constexpr int64_t kPairsPerUnit = 8;
// A dive that has not ended after that many steps for each device starts anew in another order.
constexpr int64_t kDiveSteps = 20'000;
// Where dives aim between what is not refuted and the best value, in turn.
constexpr std::array<double, 8> kDiveAims = {0, 0.5, 0, 0.25, 0, 0.75, 0.06, 0.9};
constexpr double kJustBelow = 1 - 1e-9;
constexpr double kJustAbove = 1 + 1e-9;

// The portfolio behind MapStages: annealing and exact searches take turns on one incumbent and one bound.
//
// Annealing runs in batches (mapping_annealing.h). Exact rounds are made of tasks of equal work:
//   proving     filters and complete cover searches that raise the bound (load_prover.h)
//   diving      cover searches in random order at targets between bound and value (replica_cover_search.h)
//   repairing   a few replicas placed anew (replica_repair.h)
// Where loads and all-reduces both count, the best mappings found for either of the paper's two instantiations are what
// annealing starts from: the answer is never worse than those.
// Large machines that consist of equal small ones are offered mappings of one of those first (machine_tiles.h).
// Tasks run in parallel; what they found is taken in their order, so the answer does not depend on the number of
// threads. Rounds grow from milliseconds to tenths of a second. Where rings count, only proving is left of them. No
// engine wins everywhere (docs/mapping.md).
//
// For one call of Run. What it is given outlives it.
class MappingSearch {
 public:
  MappingSearch(const MappingInstance& instance, const KindAssignment& kinds, const MappingOptions& options,
                const SolveLimits& limits, TaskArena& arena, const MappingCallback& on_improvement)
      : instance_(instance),
        kinds_(kinds),
        options_(options),
        limits_(limits),
        arena_(arena),
        on_improvement_(on_improvement),
        tables_(instance, limits, arena),
        annealing_(tables_, kinds, options.seed, limits, arena),
        model_(instance, tables_.links(), limits),
        symmetry_(DeviceSymmetry::Of(model_, limits)),
        all_devices_(FirstNumbers(Index(model_.num_devices()))),
        round_work_(kFirstRound),
        other_work_(int64_t{model_.num_devices()} * model_.num_devices() / kPairsPerUnit) {
    outcome_.bounds = {{.value_ms = instance.load_weight * kinds.bottleneck_ms, .method = "compute"}};
  }

  MappingOutcome Run() {
    for (const Mapping& start : options_.starts) annealing_.Offer(start);
    TakeIncumbent();
    // Bounds and exact searches are for replicas that pair off.
    if (!IsDone() && instance_.replicas.are_equal() && model_.num_stages() <= ReplicaDomains::kMostStages) {
      if (instance_.CountsRings()) BoundRings();
      if (instance_.CountsTraffic()) StartProving();
    }
    if (!IsDone()) OfferInstantiations();
    if (IsExact() && !IsDone()) OfferTiles();
    tasks_ = IsExact() ? std::vector{Task::kProve, Task::kDive, Task::kRepair, Task::kDive} : std::vector{Task::kProve};
    for (std::size_t slot = 0; IsExact() && slot < tasks_.size(); ++slot) {
      divers_.push_back(std::make_unique<ReplicaCoverSearch>(model_, symmetry_));
    }
    while (!IsDone()) {
      if (IsExactTurn()) {
        RunRound();
      } else {
        RunAnnealing();
      }
      TakeIncumbent();
      CloseRings();
    }
    return std::move(outcome_);
  }

 private:
  // A mapping that a task of a round came by.
  using Findings = std::optional<Mapping>;
  enum class Task { kProve, kDive, kRepair };
  // What work has brought lately: the gap that it closed, relative to the value, and itself; both fade with every turn.
  struct Yield {
    double gap = 0;
    double work = 0;

    void Add(double gap_closed, int64_t work_done) {
      gap = gap * kFading + gap_closed;
      work = work * kFading + static_cast<double>(work_done);
    }
    double PerWork() const { return work > 0 ? gap / work : 0; }
  };

  void CountWork() { outcome_.work = annealing_.moves() + exact_work_ + other_work_; }

  void TakeIncumbent() {
    CountWork();
    outcome_.counters["moves"] = annealing_.moves();
    if (!outcome_.mapping.devices.empty() && annealing_.value().value_ms >= outcome_.value.value_ms) return;
    outcome_.mapping = annealing_.incumbent();
    outcome_.value = annealing_.value();
    outcome_.proven = outcome_.value.value_ms <= outcome_.bound_ms() * (1 + kRounding);
    on_improvement_(outcome_);
  }

  void OfferBound(double value_ms, const std::string& method) {
    if (value_ms <= outcome_.bound_ms()) return;
    std::erase_if(outcome_.bounds, [&](const MappingBound& bound) { return bound.method == method; });
    outcome_.bounds.push_back({.value_ms = value_ms, .method = method});
    outcome_.proven = outcome_.value.value_ms <= value_ms * (1 + kRounding);
    annealing_.RaiseBound(value_ms / (1 - std::min(options_.relative_gap, kMostGap)));
    on_improvement_(outcome_);
  }

  void OfferLoadBound() {
    OfferBound(prover_->bound_ms() + rings_apart_ms_, prover_->method());
    dive_floor_ms_ = prover_->bound_ms() * kJustAbove;
    if (std::isfinite(prover_->open_ms())) dive_floor_ms_ = std::max(dive_floor_ms_, prover_->open_ms());
  }

  bool IsDone() {
    const double value = outcome_.value.value_ms;
    const double gap = value - outcome_.bound_ms();
    const std::optional<Interruption> interruption = CheckInterruption(limits_);
    outcome_.proven = gap <= value * kRounding;
    if (outcome_.proven) {
      outcome_.stop_reason = StopReason::kOptimal;
    } else if (gap <= value * options_.relative_gap) {
      outcome_.stop_reason = StopReason::kGapReached;
    } else if (interruption.has_value()) {
      outcome_.stop_reason =
          *interruption == Interruption::kCancelled ? StopReason::kCancelled : StopReason::kTimeLimit;
    } else if (outcome_.work >= limits_.work) {
      outcome_.stop_reason = StopReason::kWorkLimit;
    } else {
      return false;
    }
    return true;
  }

  // The compute time of a stage adds to its all-reduce in equation (7) and in the sum.
  void BoundRings() {
    const bool is_sum = instance_.objective == MappingObjective::kLoadAndAllReduce;
    const bool with_compute = is_sum || instance_.objective == MappingObjective::kAllReduce;
    Poller poller(limits_);
    rings_ = std::make_unique<RingBounds>(model_, with_compute);
    const double bound = rings_->LargestRefuted(outcome_.value.value_ms, poller);
    other_work_ += rings_->work() / kStepsPerUnit;
    CountWork();
    OfferBound(bound, "rings");
    if (instance_.objective == MappingObjective::kLoadPlusLargestAllReduce) rings_apart_ms_ = bound;
    if (is_sum) surcharge_ms_ = RingSurcharges(model_);
  }

  // What bisection leaves between a bound and a value that it was not told.
  void CloseRings() {
    const double value = outcome_.value.value_ms;
    if (rings_ == nullptr || outcome_.bound_ms() >= value || outcome_.bound_ms() < value * (1 - kNearlyClosed)) return;
    if (value == last_closed_ms_) return;
    last_closed_ms_ = value;
    Poller poller(limits_);
    if (rings_->Refutes(value * (1 - kRounding / 2), poller)) OfferBound(value, "rings");
  }

  // Whether what a cover search finds has the value that it searched for.
  bool IsExact() const {
    return prover_ != nullptr && (instance_.objective == MappingObjective::kLoad || !instance_.HasRings());
  }

  bool IsExactTurn() const {
    if (prover_ == nullptr || limits_.work - outcome_.work < static_cast<int64_t>(tasks_.size())) return false;
    return exact_work_ < kExactHeadStart + exact_due_;
  }

  double RelativeGap() const { return 1 - outcome_.bound_ms() / annealing_.value().value_ms; }

  double LoadShare(double value_ms) const { return value_ms - rings_apart_ms_; }

  void StartProving() {
    star_loads_ = StarLoads(model_, surcharge_ms_);
    prover_ = std::make_unique<LoadProver>(model_, symmetry_, surcharge_ms_, star_loads_);
    prover_->Raise(instance_.load_weight * kinds_.bottleneck_ms, "compute");
    prover_->Raise(StarBound(model_, star_loads_), "nearest_neighbours");
    Poller poller(limits_);
    const int64_t nodes =
        std::clamp<int64_t>((limits_.work - outcome_.work) / kQuotientShare / kWorkOfNode, 0, kQuotientNodes);
    int64_t left = nodes;
    prover_->Raise(QuotientBound(model_, surcharge_ms_, LoadShare(outcome_.value.value_ms), left, poller), "quotient");
    other_work_ += (nodes - left) * kWorkOfNode;
    CountWork();
    OfferLoadBound();
    repair_ = std::make_unique<ReplicaRepair>(model_, symmetry_);
  }

  void OfferInstantiations() {
    if (!instance_.CountsRings() || !instance_.CountsTraffic()) return;
    for (const MappingObjective objective : {MappingObjective::kLoad, MappingObjective::kAllReduce}) {
      MappingInstance instance = instance_;
      instance.objective = objective;
      SolveLimits limits = ShareOfRemainingTime(limits_, kSharesOfInstantiation);
      limits.work = std::min(kInstantiationWork, (limits_.work - outcome_.work) / int64_t{kSharesOfInstantiation});
      const auto outcome = MapStages(instance, {.seed = options_.seed, .relative_gap = 0, .starts = options_.starts},
                                     limits, arena_, [](const MappingOutcome&) {});
      if (!outcome.has_value()) continue;
      other_work_ += outcome->work;
      annealing_.StartDetour(objective, outcome->mapping);
      annealing_.Offer(outcome->mapping);
      TakeIncumbent();
    }
  }

  // The smallest tiles that may be good enough first, until one of them is.
  void OfferTiles() {
    if (model_.num_devices() < 2 * kMostOfTile) return;
    Poller poller(limits_);
    const std::vector<MachineTiles> ways = TilesOf(model_, kMostOfTile, poller);
    for (std::size_t way = 0; way < std::min(ways.size(), kMostTilings) && !IsDone(); ++way) {
      const MachineTiles& tiles = ways[way];
      const MappingInstance instance = InstanceOfTile(model_, tiles.front());
      SolveLimits limits = limits_;
      limits.work = std::min(kTileWork, (limits_.work - outcome_.work) / 4);
      const auto outcome = MapStages(instance, {.seed = options_.seed, .relative_gap = 0, .starts = {}}, limits, arena_,
                                     [](const MappingOutcome&) {});
      if (!outcome.has_value()) continue;
      other_work_ += outcome->work;
      annealing_.Offer(RepeatOn(tiles, outcome->mapping));
      TakeIncumbent();
    }
  }

  void RunAnnealing() {
    const int64_t before = annealing_.moves();
    const double gap = RelativeGap();
    annealing_.RunBatch(limits_.work - outcome_.work);
    const int64_t moves = annealing_.moves() - before;
    annealing_yield_.Add(gap - RelativeGap(), moves);
    const bool is_worth_it = IsExact() && exact_yield_.PerWork() >= annealing_yield_.PerWork();
    exact_due_ += is_worth_it ? moves : moves / kLesserShare;
  }

  void RunRound() {
    const auto tasks = static_cast<int64_t>(tasks_.size());
    const int64_t work = std::min(round_work_, (limits_.work - outcome_.work) / tasks);
    round_work_ = std::min(round_work_ + round_work_ / 2, kMostOfRound);
    std::vector<Findings> findings(tasks_.size());
    arena_.ParallelFor(tasks_.size(), 1, [&](std::size_t slot) { findings[slot] = RunTask(slot, work); });
    exact_work_ += work * tasks;
    ++round_;
    const double gap = RelativeGap();
    for (const Findings& found : findings) {
      if (found.has_value()) annealing_.Offer(*found);
    }
    OfferLoadBound();
    exact_yield_.Add(gap - RelativeGap(), work * tasks);
    int64_t nodes = prover_->nodes() + repair_->nodes();
    for (const auto& diver : divers_) nodes += diver->nodes();
    outcome_.counters["nodes"] = nodes;
  }

  Findings RunTask(std::size_t slot, int64_t work) {
    const auto stream = static_cast<uint64_t>(round_) * tasks_.size() + slot;
    RandomStream random(static_cast<uint64_t>(options_.seed), ~stream);
    switch (tasks_[slot]) {
      case Task::kProve:
        return Prove(work);
      case Task::kDive:
        return Dive(slot, work, random);
      case Task::kRepair:
        return Repair(work, random);
    }
    return std::nullopt;
  }

  Findings Prove(int64_t work) {
    Poller poller(limits_);
    const double value = LoadShare(outcome_.value.value_ms);
    const std::optional<ReplicaPlaces> replicas = prover_->Step(value, work * kStepsPerUnit, poller);
    return replicas.has_value() ? Findings(MappingOf(*replicas)) : std::nullopt;
  }

  // Until the first mapping that is found, or the end of the work.
  Findings Dive(std::size_t slot, int64_t work, RandomStream& random) {
    ReplicaCoverSearch& diver = *divers_[slot];
    Poller poller(limits_);
    const double value = outcome_.value.value_ms;
    const double low = std::min(dive_floor_ms_, value);
    const double aim = kDiveAims[(static_cast<std::size_t>(round_) + slot / 2) % kDiveAims.size()];
    const double target = std::min(low + (value - low) * aim, value * kJustBelow);
    int64_t steps = work * kStepsPerUnit;
    for (bool is_shuffled = round_ >= static_cast<int64_t>(kDiveAims.size()); steps > 0 && !poller.ShouldStopNow();
         is_shuffled = true) {
      const int64_t before = diver.work();
      const ReplicaCoverAnswer answer = diver.Ask({.devices = all_devices_,
                                                   .replicas = model_.num_replicas(),
                                                   .target_ms = target,
                                                   .work = std::min(steps, kDiveSteps * model_.num_devices()),
                                                   .is_shuffled = is_shuffled,
                                                   .seed = random.Next()},
                                                  poller);
      steps -= diver.work() - before + model_.num_devices();
      if (answer == ReplicaCoverAnswer::kFound) return MappingOf(diver.replicas());
      if (answer == ReplicaCoverAnswer::kNone) break;
    }
    return std::nullopt;
  }

  Findings Repair(int64_t work, RandomStream& random) {
    Poller poller(limits_);
    ReplicaPlaces replicas = PlacesOf(outcome_.mapping);
    const bool is_better = repair_->Improve(replicas, outcome_.bound_ms(), work * kStepsPerUnit, random, poller);
    return is_better ? Findings(MappingOf(replicas)) : std::nullopt;
  }

  Mapping RepeatOn(const MachineTiles& tiles, const Mapping& of_first) const {
    Mapping mapping{.devices = {}, .rings = RingsInReplicaOrder(instance_)};
    for (const std::vector<int32_t>& tile : tiles) {
      for (const DeviceId device : of_first.devices) {
        const auto at = std::lower_bound(tiles.front().begin(), tiles.front().end(), model_.NumberOf(device));
        mapping.devices.push_back(model_.device(tile[static_cast<std::size_t>(at - tiles.front().begin())]));
      }
    }
    return mapping;
  }

  ReplicaPlaces PlacesOf(const Mapping& mapping) const {
    ReplicaPlaces replicas(Index(model_.num_replicas()), std::vector<int32_t>(Index(model_.num_stages())));
    for (std::size_t vertex = 0; vertex < mapping.devices.size(); ++vertex) {
      replicas[Index(instance_.replicas.ReplicaOf(vertex))][Index(instance_.StageOf(vertex))] =
          model_.NumberOf(mapping.devices[vertex]);
    }
    return replicas;
  }

  Mapping MappingOf(const ReplicaPlaces& replicas) const {
    Mapping mapping{.devices = {}, .rings = RingsInReplicaOrder(instance_)};
    for (const std::vector<int32_t>& replica : replicas) {
      for (const int32_t device : replica) mapping.devices.push_back(model_.device(device));
    }
    return mapping;
  }

  const MappingInstance& instance_;
  const KindAssignment& kinds_;
  const MappingOptions& options_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  const MappingCallback& on_improvement_;
  MappingTables tables_;
  MappingAnnealing annealing_;
  ReplicaModel model_;
  DeviceSymmetry symmetry_;
  // The least that any mapping adds to its largest load for its largest all-reduce, where the objective adds them.
  double rings_apart_ms_ = 0;
  std::unique_ptr<RingBounds> rings_;
  // The value that CloseRings looked at last.
  double last_closed_ms_ = 0;
  std::vector<double> surcharge_ms_;
  std::vector<double> star_loads_;
  std::unique_ptr<LoadProver> prover_;
  // By task; only divers have one.
  std::vector<std::unique_ptr<ReplicaCoverSearch>> divers_;
  std::unique_ptr<ReplicaRepair> repair_;
  // The least load that no filter has refuted: as of the last round, so that tasks do not watch each other.
  double dive_floor_ms_ = 0;
  std::vector<Task> tasks_;
  std::vector<int32_t> all_devices_;
  int64_t round_ = 0;
  // Of each task in the next round, and of all tasks so far.
  int64_t round_work_ = 0;
  int64_t exact_work_ = 0;
  // What exact rounds have earned by annealing.
  int64_t exact_due_ = 0;
  Yield exact_yield_;
  Yield annealing_yield_;
  // Of set-up, of bounds, and of searches for the paper's instantiations and for tiles.
  int64_t other_work_ = 0;
  MappingOutcome outcome_;
};

}  // namespace

std::optional<MappingOutcome> MapStages(const MappingInstance& instance, const MappingOptions& options,
                                        const SolveLimits& limits, TaskArena& arena,
                                        const MappingCallback& on_improvement) {
  const std::optional<KindAssignment> kinds = AssignKinds(instance);
  if (!kinds.has_value()) return std::nullopt;
  return MappingSearch(instance, *kinds, options, limits, arena, on_improvement).Run();
}

}  // namespace planwright
