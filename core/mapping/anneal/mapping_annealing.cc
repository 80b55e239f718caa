#include "core/mapping/anneal/mapping_annealing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/mapping/anneal/simple_mappings.h"
#include "core/mapping/problem/ring_order.h"

namespace planwright {
namespace {

// As many slices run at a time, so that the number of threads changes nothing.
constexpr std::size_t kBatch = 4;
// Moves of the first slices, and how those of the next batches grow.
constexpr double kFirstSliceMoves = 100'000;
constexpr double kSliceGrowth = 1.2;
constexpr double kMaxSliceMoves = 4'000'000;
// Every so many slices of an arm one starts from the incumbent.
constexpr int64_t kVisitsPerIncumbent = 3;
constexpr MappingHeat kHeats[] = {{.hot = 0.04, .cold = 0.01}, {.hot = 0.12}, {.hot = 0.3}, {.hot = 1.0}};
// The greedy mapping of more devices takes longer than what it is worth.
constexpr std::size_t kGreedyDevices = 1024;

}  // namespace

MappingAnnealing::MappingAnnealing(const MappingTables& tables, const KindAssignment& kinds, int64_t seed,
                                   const SolveLimits& limits, TaskArena& arena)
    : tables_(tables), kinds_(kinds), seed_(static_cast<uint64_t>(seed)), limits_(limits), arena_(arena) {
  const MappingInstance& instance = tables.instance();
  incumbent_ = MapConsecutively(instance, kinds);
  value_ = Evaluate(instance, tables.links(), incumbent_);
  Offer(incumbent_);
  Offer(MapReplicasTogether(instance, kinds));
  if (instance.num_devices() <= kGreedyDevices) Offer(MapGreedily(instance, tables.links(), kinds, limits));
  start_ = incumbent_;
  AddArms();
}

bool MappingAnnealing::Offer(const Mapping& mapping) {
  Mapping ordered = mapping;
  if (tables_.instance().CountsRings())
    ordered = OrderRings(tables_.instance(), tables_.links(), limits_, std::move(ordered));
  const MappingValue value = Evaluate(tables_.instance(), tables_.links(), ordered);
  if (value.value_ms >= value_.value_ms) return false;
  incumbent_ = std::move(ordered);
  value_ = value;
  return true;
}

void MappingAnnealing::StartDetour(MappingObjective objective, const Mapping& mapping) {
  for (Arm& arm : arms_) {
    if (!arm.detour.has_value() || arm.detour->tables->instance().objective != objective) continue;
    arm.detour->mapping = OrderRings(tables_.instance(), tables_.links(), limits_, mapping);
  }
}

bool MappingAnnealing::RunBatch(int64_t most_moves) {
  std::vector<Slice> batch = NextBatch(most_moves);
  arena_.ParallelFor(batch.size(), 1, [&](std::size_t i) { Run(batch[i]); });
  for (Slice& slice : batch) Merge(slice);
  return !IsDone();
}

void MappingAnnealing::AddArms() {
  if (tables_.instance().CountsRings() && tables_.instance().CountsTraffic()) {
    AddDetour(MappingObjective::kLoad);
    AddDetour(MappingObjective::kAllReduce);
  }
  for (const bool starts_afresh : {false, true}) {
    for (const MappingHeat& heat : kHeats) {
      arms_.push_back({.heat = heat, .mapping = {}, .starts_afresh = starts_afresh, .detour = {}});
    }
  }
}

void MappingAnnealing::AddDetour(MappingObjective objective) {
  MappingInstance instance = tables_.instance();
  instance.objective = objective;
  other_instances_.push_back(std::make_unique<const MappingInstance>(std::move(instance)));
  other_tables_.push_back(std::make_unique<const MappingTables>(*other_instances_.back(), tables_));
  arms_.push_back(
      {.heat = {}, .mapping = {}, .detour = Detour{.tables = other_tables_.back().get(), .mapping = {}, .heat = {}}});
}

std::vector<MappingAnnealing::Slice> MappingAnnealing::NextBatch(int64_t most_moves) {
  const int64_t batches = slices_ / static_cast<int64_t>(kBatch);
  const double growth = std::pow(kSliceGrowth, static_cast<double>(batches));
  const auto slice_moves = static_cast<int64_t>(std::min(kMaxSliceMoves, kFirstSliceMoves * growth));
  const int64_t end = planned_moves_ + std::min(most_moves, limits_.work - planned_moves_);
  std::vector<Slice> batch;
  while (batch.size() < kBatch && planned_moves_ < end) {
    Slice slice{.result = {}};
    slice.arm = ChooseArm();
    slice.moves = std::min(slice_moves, end - planned_moves_);
    slice.stream = static_cast<uint64_t>(slices_) + 1;
    slice.result = arms_[slice.arm];
    planned_moves_ += slice.moves;
    ++slices_;
    batch.push_back(std::move(slice));
  }
  return batch;
}

// Each arm in turn, and in between, once all had a turn, the one that is best.
std::size_t MappingAnnealing::ChooseArm() const {
  const auto turn = static_cast<std::size_t>(slices_);
  if (turn < arms_.size()) return turn;
  if (turn % 2 == 0) return turn / 2 % arms_.size();
  const auto best =
      std::min_element(arms_.begin(), arms_.end(), [](const Arm& a, const Arm& b) { return a.value_ms < b.value_ms; });
  return static_cast<std::size_t>(best - arms_.begin());
}

void MappingAnnealing::Run(Slice& slice) const {
  RandomStream random(seed_, slice.stream);
  Arm& arm = slice.result;
  ++arm.visits;
  if (arm.mapping.devices.empty()) {
    arm.mapping = StartOf(arm, random);
    arm.value_ms = Evaluate(tables_.instance(), tables_.links(), arm.mapping).value_ms;
  }
  if (arm.detour.has_value()) RunDetour(*arm.detour, slice, random);
  const bool from_incumbent = arm.visits % kVisitsPerIncumbent == 0;
  Anneal(slice, from_incumbent ? incumbent_ : Mapping(arm.mapping), slice.moves - slice.moves_made, random);
}

// Half of the moves of every other slice go on where the detour ended, and half of the rest from there.
void MappingAnnealing::RunDetour(Detour& detour, Slice& slice, RandomStream& random) const {
  if (slice.result.visits % 2 == 0) return;
  if (detour.mapping.devices.empty()) detour.mapping = incumbent_;
  MappingRun run = AnnealMapping(*detour.tables, detour.mapping, 0, detour.heat, slice.moves / 2, random, limits_);
  detour.mapping = OrderRings(tables_.instance(), tables_.links(), limits_, std::move(run.best));
  detour.heat = run.heat;
  slice.moves_made += run.moves;
  Anneal(slice, Mapping(detour.mapping), slice.moves / 4, random);
}

void MappingAnnealing::Anneal(Slice& slice, const Mapping& start, int64_t moves, RandomStream& random) const {
  Arm& arm = slice.result;
  MappingRun run = AnnealMapping(tables_, start, bound_ms_, arm.heat, moves, random, limits_);
  slice.moves_made += run.moves;
  arm.heat = run.heat;
  if (run.value.value_ms > arm.value_ms) return;
  arm.value_ms = run.value.value_ms;
  arm.mapping = std::move(run.best);
}

Mapping MappingAnnealing::StartOf(const Arm& arm, RandomStream& random) const {
  if (!arm.starts_afresh) return incumbent_;
  return other_tables_.empty() ? MapRandomly(tables_.instance(), kinds_, random) : start_;
}

void MappingAnnealing::Merge(Slice& slice) {
  moves_ += slice.moves_made;
  Arm& arm = arms_[slice.arm];
  // The arm may have had two slices in the batch.
  if (slice.result.value_ms > arm.value_ms && !arm.mapping.devices.empty()) return;
  arm = std::move(slice.result);
  if (arm.value_ms < value_.value_ms) Offer(arm.mapping);
}

bool MappingAnnealing::IsDone() const {
  return value_.value_ms <= bound_ms_ * (1 + kRoundingOfValues) || planned_moves_ >= limits_.work ||
         CheckInterruption(limits_).has_value();
}

}  // namespace planwright
