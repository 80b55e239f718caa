#include "core/partition/latency/latency_annealing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace planwright {
namespace {

// What a picosecond of duration counts beside a picosecond of latency.
constexpr double kDurationShare = 0.002;
// Work between two looks at the limits: about a millisecond.
constexpr int64_t kWorkPerLook = int64_t{1} << 17;
// Moves at one temperature.
constexpr int64_t kMovesPerTemperature = 64;
// A unit that cannot start is worse than any lack of memory.
constexpr int64_t kStuckUnit = int64_t{1} << 44;
// Vertices that are tried to find one in a given place.
constexpr int kTries = 8;
// Work, in about ten nanoseconds: of a proposal, of moving a vertex, of choosing a group; a unit that is scheduled
// counts 1.
constexpr int64_t kProposalWork = 10;
constexpr int64_t kVertexWork = 6;
constexpr int64_t kGroupWork = 3;

// Shares of the moves in percent. Clusters are most of them: without many, branches that must move whole stay apart.
constexpr int kBundleShare = 12;
constexpr int kSequenceShare = 4;
constexpr int kSingleShare = 30;
constexpr int kClosureShare = 15;
constexpr int kClusterShare = 45;
constexpr int kExchangeShare = 4;
constexpr int kChainShare = 4;
// Share of destinations that are no neighbour's place.
constexpr int kRandomTargetShare = 10;
// The largest cluster has 2 + 2^6 groups.
constexpr int kLogLargestCluster = 6;

}  // namespace

LatencyAnnealer::LatencyAnnealer(const LatencyInstance& instance, int32_t slots_per_pass, const SolveLimits& limits)
    : instance_(&instance), schedule_(instance, slots_per_pass), poller_(limits), random_(0) {
  is_chosen_.assign(instance.groups.size(), false);
  for (const std::vector<int32_t>& members : instance.groups) {
    int64_t& bytes = group_bytes_.emplace_back(0);
    for (const int32_t vertex : members) bytes += instance.memory.linear[Index(vertex)];
  }
}

// One slice: moves are proposed until the work is spent, and taken back unless Metropolis accepts them. The temperature
// falls geometrically with the work, not with the moves, so that a slice ends cold whatever its moves cost. Only plans
// without badness, which break no limit, are kept as the best.
LatencyAnnealingResult LatencyAnnealer::Run(const LatencyAssignment& start, const AnnealingSlice& slice) {
  LatencyAnnealingResult result;
  random_ = RandomStream(slice.seed, slice.stream);
  work_ = 0;
  Load(start);
  current_ = Measure();
  const auto keep_if_better = [&] {
    if (current_.badness > 0 || (result.best.has_value() && current_.latency >= result.best->latency)) return;
    result.best = Snapshot();
  };
  keep_if_better();
  double temperature = slice.first_temperature;
  const double ratio = slice.last_temperature / slice.first_temperature;
  int64_t next_look = 0;
  for (; work_ < slice.work; ++result.moves) {
    if (work_ >= next_look) {
      if (poller_.ShouldStopNow()) break;
      next_look = work_ + kWorkPerLook;
    }
    if (result.moves % kMovesPerTemperature == 0) {
      temperature =
          slice.first_temperature * std::pow(ratio, static_cast<double>(work_) / static_cast<double>(slice.work));
    }
    undo_.clear();
    touched_.clear();
    swapped_accelerator_ = -1;
    work_ += kProposalWork;
    if (!Propose()) {
      TakeBack();
      continue;
    }
    const Energy energy = Measure();
    if (!Accepts(energy, temperature)) {
      TakeBack();
      continue;
    }
    current_ = energy;
    keep_if_better();
  }
  result.work = work_;
  return result;
}

void LatencyAnnealer::Load(const LatencyAssignment& assignment) {
  schedule_.Load(assignment.places, assignment.sequences);
  current_.badness = std::numeric_limits<int64_t>::max();
  work_ += kVertexWork * instance_->num_vertices();
}

LatencyAssignment LatencyAnnealer::Snapshot() const {
  return {.places = schedule_.places(), .sequences = schedule_.sequences(), .latency = current_.latency};
}

// Where everything fitted before the move, only what it touched may not, and the schedule is not needed if so.
LatencyAnnealer::Energy LatencyAnnealer::Measure() {
  Energy energy;
  if (current_.badness > 0) {
    energy.badness = schedule_.loads().MissingBytes();
  } else {
    energy.badness = schedule_.loads().MissingCpuBytes();
    for (const int32_t accelerator : touched_) energy.badness += schedule_.loads().MissingBytes(accelerator);
    if (energy.badness > 0) return energy;
  }
  energy.latency = schedule_.Latency();
  work_ += static_cast<int64_t>(schedule_.num_units());
  energy.badness += schedule_.num_stuck_units() * kStuckUnit;
  energy.value =
      static_cast<double>(energy.latency) + kDurationShare * static_cast<double>(schedule_.loads().total_duration());
  return energy;
}

bool LatencyAnnealer::Accepts(const Energy& energy, double temperature) {
  if (current_.badness > 0) return energy.badness <= current_.badness;
  if (energy.badness > 0) return false;
  const double rise = energy.value - current_.value;
  return rise <= 0 || random_.Unit() < std::exp(-rise / temperature);
}

void LatencyAnnealer::TakeBack() {
  for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) schedule_.Move(undo->vertex, undo->place);
  work_ += kVertexWork * static_cast<int64_t>(undo_.size());
  if (swapped_accelerator_ >= 0) {
    schedule_.SwapInSequence(swapped_accelerator_, swapped_position_, swapped_position_ + 1);
  }
}

bool LatencyAnnealer::Propose() {
  if (schedule_.slots_per_pass() > 1 && Below(100) < kBundleShare) return ProposeBundle();
  const bool has_sequences =
      instance_->num_accelerators() > 0 && schedule_.slots_per_pass() * instance_->num_passes > 1;
  if (has_sequences && Below(100) < kSequenceShare) return ProposeSequence();
  int kind = Below(100);
  const auto is = [&kind](int share) { return (kind -= share) < 0; };
  if (is(kSingleShare)) return ProposeSingle();
  if (is(kClosureShare)) return ProposeClosure();
  if (is(kClusterShare)) return ProposeCluster();
  if (is(kExchangeShare)) return ProposeExchange();
  if (is(kChainShare)) return ProposeChain();
  return Below(2) == 0 ? ProposeMerge() : ProposeTrade();
}

bool LatencyAnnealer::ProposeSingle() {
  const int32_t vertex = RandomVertex();
  ClearChosen();
  Choose(instance_->group_of[Index(vertex)]);
  return MoveChosen(TargetFor(vertex));
}

bool LatencyAnnealer::ProposeClosure() {
  const int32_t vertex = RandomVertex();
  ChooseClosure(vertex, Below(2) == 0);
  return MoveChosen(TargetOfChosen());
}

bool LatencyAnnealer::ProposeCluster() {
  const int32_t vertex = RandomVertex();
  const int32_t largest = 2 + (1 << (1 + Below(kLogLargestCluster)));
  ChooseCluster(vertex, Index(2 + Below(largest - 1)));
  return MoveChosen(TargetOfChosen());
}

bool LatencyAnnealer::ProposeExchange() {
  const int32_t first = instance_->group_of[Index(RandomVertex())];
  const int32_t second = instance_->group_of[Index(RandomVertex())];
  if (first == second) return false;
  const Target of_first = TargetOf(first);
  const Target of_second = TargetOf(second);
  if (!MayMove(first, of_second) || !MayMove(second, of_first)) return false;
  MoveGroup(first, of_second);
  MoveGroup(second, of_first);
  return true;
}

bool LatencyAnnealer::ProposeChain() {
  // Not both as arguments: compilers differ in which they draw first.
  const bool downwards = Below(2) == 0;
  ChooseClosure(RandomVertex(), downwards);
  const Target target = TargetOfChosen();
  for (const int32_t group : chosen_) {
    if (!MayMove(group, target)) return false;
    MoveGroup(group, target);
  }
  for (int i = 0; i < kTries; ++i) {
    const int32_t other = RandomVertex();
    if (is_chosen_[Index(instance_->group_of[Index(other)])]) continue;
    if (TargetOfVertex(other).accelerator != target.accelerator) continue;
    ChooseClosure(other, Below(2) == 0);
    return MoveChosen(TargetOfChosen());
  }
  return !undo_.empty();
}

bool LatencyAnnealer::ProposeMerge() {
  const int32_t place = schedule_.place(RandomVertex());
  if (place == SubgraphSchedule::kCpu) return false;
  ClearChosen();
  for (int32_t vertex = 0; vertex < instance_->num_vertices(); ++vertex) {
    if (schedule_.place(vertex) == place) Choose(instance_->group_of[Index(vertex)]);
  }
  return MoveChosen(TargetOfChosen());
}

bool LatencyAnnealer::ProposeTrade() {
  const int32_t place = schedule_.place(RandomVertex());
  if (place == SubgraphSchedule::kCpu) return false;
  const int32_t first = schedule_.AcceleratorOf(place);
  const int32_t second = Below(instance_->num_accelerators());
  if (first == second) return false;
  const int32_t shift = schedule_.SlotOf(second, Pass::kForward, 0) - schedule_.SlotOf(first, Pass::kForward, 0);
  for (int32_t vertex = 0; vertex < instance_->num_vertices(); ++vertex) {
    const int32_t old_place = schedule_.place(vertex);
    if (old_place == SubgraphSchedule::kCpu) continue;
    const int32_t accelerator = schedule_.AcceleratorOf(old_place);
    if (accelerator != first && accelerator != second) continue;
    const int32_t other = accelerator == first ? second : first;
    if (!instance_->allowed[Index(instance_->group_of[Index(vertex)])][Index(other)]) return false;
    MoveVertex(vertex, accelerator == first ? old_place + shift : old_place - shift);
  }
  return true;
}

bool LatencyAnnealer::ProposeBundle() {
  const int32_t vertex = RandomVertex();
  const int32_t place = schedule_.place(vertex);
  if (place == SubgraphSchedule::kCpu) return false;
  const int32_t number = Below(schedule_.slots_per_pass());
  const int32_t target = schedule_.SlotOf(schedule_.AcceleratorOf(place), instance_->pass[Index(vertex)], number);
  if (target == place) return false;
  for (const int32_t member : instance_->bundles[Index(instance_->bundle_of[Index(vertex)])])
    MoveVertex(member, target);
  return true;
}

bool LatencyAnnealer::ProposeSequence() {
  swapped_accelerator_ = Below(instance_->num_accelerators());
  const auto length = static_cast<int32_t>(schedule_.sequence(swapped_accelerator_).size());
  swapped_position_ = Index(Below(length - 1));
  schedule_.SwapInSequence(swapped_accelerator_, swapped_position_, swapped_position_ + 1);
  return true;
}

void LatencyAnnealer::ClearChosen() {
  for (const int32_t group : chosen_) is_chosen_[Index(group)] = false;
  chosen_.clear();
}

// False: it was chosen before.
bool LatencyAnnealer::Choose(int32_t group) {
  if (is_chosen_[Index(group)]) return false;
  is_chosen_[Index(group)] = true;
  chosen_.push_back(group);
  return true;
}

void LatencyAnnealer::ChooseClosure(int32_t vertex, bool downwards) {
  ClearChosen();
  frontier_.clear();
  const int32_t place = schedule_.place(vertex);
  const auto choose = [&](int32_t reached) {
    const int32_t group = instance_->group_of[Index(reached)];
    if (!Choose(group)) return;
    for (const int32_t member : instance_->groups[Index(group)]) {
      if (schedule_.place(member) == place) frontier_.push_back(member);
    }
  };
  choose(vertex);
  // On the CPUs nothing holds operators together.
  if (place == SubgraphSchedule::kCpu) return;
  std::size_t next = 0;
  while (next < frontier_.size()) {
    const int32_t reached = frontier_[next++];
    const auto neighbours =
        downwards ? instance_->precedence.successors(reached) : instance_->precedence.predecessors(reached);
    for (const int32_t neighbour : neighbours) {
      if (schedule_.place(neighbour) == place) choose(neighbour);
    }
  }
}

void LatencyAnnealer::ChooseCluster(int32_t vertex, std::size_t size) {
  ClearChosen();
  frontier_.clear();
  const int32_t place = schedule_.place(vertex);
  const auto choose = [&](int32_t reached) {
    if (schedule_.place(reached) != place || chosen_.size() >= size) return;
    if (Choose(instance_->group_of[Index(reached)])) frontier_.push_back(reached);
  };
  choose(vertex);
  std::size_t next = 0;
  while (next < frontier_.size()) {
    const int32_t reached = frontier_[next++];
    for (const int32_t neighbour : instance_->precedence.predecessors(reached)) choose(neighbour);
    for (const int32_t neighbour : instance_->precedence.successors(reached)) choose(neighbour);
  }
}

// The place of a neighbour of `vertex`, or any place.
LatencyAnnealer::Target LatencyAnnealer::TargetFor(int32_t vertex) {
  const auto before = instance_->precedence.predecessors(vertex);
  const auto after = instance_->precedence.successors(vertex);
  const auto num_neighbours = static_cast<int32_t>(before.size() + after.size());
  if (num_neighbours == 0 || Below(100) < kRandomTargetShare) return RandomTarget();
  const std::size_t pick = Index(Below(num_neighbours));
  return TargetOfVertex(pick < before.size() ? before[pick] : after[pick - before.size()]);
}

// A target of one of the groups, not where the first one is if that can be helped.
LatencyAnnealer::Target LatencyAnnealer::TargetOfChosen() {
  const int32_t home = TargetOf(chosen_.front()).accelerator;
  Target target;
  for (int i = 0; i < kTries / 2; ++i) {
    const int32_t group = chosen_[Index(Below(static_cast<int32_t>(chosen_.size())))];
    const std::vector<int32_t>& members = instance_->groups[Index(group)];
    target = TargetFor(members[Index(Below(static_cast<int32_t>(members.size())))]);
    if (target.accelerator != home) break;
  }
  return target;
}

LatencyAnnealer::Target LatencyAnnealer::RandomTarget() {
  Target target;
  target.accelerator = Below(instance_->num_accelerators() + 1) - 1;
  for (int32_t& number : target.number) number = Below(schedule_.slots_per_pass());
  return target;
}

LatencyAnnealer::Target LatencyAnnealer::TargetOfVertex(int32_t vertex) {
  Target target = RandomTarget();
  const int32_t place = schedule_.place(vertex);
  target.accelerator = place == SubgraphSchedule::kCpu ? SubgraphSchedule::kCpu : schedule_.AcceleratorOf(place);
  if (place == SubgraphSchedule::kCpu) return target;
  const Pass pass = instance_->pass[Index(vertex)];
  target.number[static_cast<std::size_t>(pass)] = place - schedule_.SlotOf(target.accelerator, pass, 0);
  return target;
}

bool LatencyAnnealer::MayMove(int32_t group, const Target& target) const {
  if (target.accelerator == SubgraphSchedule::kCpu) return instance_->allowed_on_cpu[Index(group)];
  return instance_->allowed[Index(group)][Index(target.accelerator)];
}

bool LatencyAnnealer::MoveChosen(const Target& target) {
  work_ += kGroupWork * static_cast<int64_t>(chosen_.size());
  const auto may_move = [&](int32_t group) { return MayMove(group, target); };
  if (!std::all_of(chosen_.begin(), chosen_.end(), may_move) || WillNotFit(target)) return false;
  const std::size_t moved = undo_.size();
  for (const int32_t group : chosen_) MoveGroup(group, target);
  return undo_.size() > moved;
}

// Saves moving what is sure to be taken back. Of the moves in two steps only the second is judged.
bool LatencyAnnealer::WillNotFit(const Target& target) const {
  if (target.accelerator == SubgraphSchedule::kCpu || !instance_->memory_is_declared || current_.badness > 0)
    return false;
  int64_t added_bytes = 0;
  for (const int32_t group : chosen_) {
    const int32_t place = schedule_.place(instance_->groups[Index(group)].front());
    const bool is_there = place != SubgraphSchedule::kCpu && schedule_.AcceleratorOf(place) == target.accelerator;
    if (!is_there) added_bytes += group_bytes_[Index(group)];
  }
  const auto& limit = instance_->pool_of(target.accelerator).memory_bytes;
  return limit.has_value() && schedule_.loads().AcceleratorBytes(target.accelerator) + added_bytes > *limit;
}

void LatencyAnnealer::MoveGroup(int32_t group, const Target& target) {
  for (const int32_t vertex : instance_->groups[Index(group)]) {
    const Pass pass = instance_->pass[Index(vertex)];
    const bool to_cpu = target.accelerator == SubgraphSchedule::kCpu;
    MoveVertex(vertex, to_cpu
                           ? SubgraphSchedule::kCpu
                           : schedule_.SlotOf(target.accelerator, pass, target.number[static_cast<std::size_t>(pass)]));
  }
}

void LatencyAnnealer::MoveVertex(int32_t vertex, int32_t place) {
  const int32_t old_place = schedule_.place(vertex);
  if (old_place == place) return;
  work_ += kVertexWork;
  undo_.push_back({vertex, old_place});
  schedule_.Move(vertex, place);
  Touch(old_place);
  Touch(place);
}

void LatencyAnnealer::Touch(int32_t place) {
  if (place == SubgraphSchedule::kCpu) return;
  const int32_t accelerator = schedule_.AcceleratorOf(place);
  if (std::find(touched_.begin(), touched_.end(), accelerator) == touched_.end()) touched_.push_back(accelerator);
}

// Without the exact evenness of RandomStream::Below, which costs two divisions.
int32_t LatencyAnnealer::Below(int32_t bound) {
  return static_cast<int32_t>(((random_.Next() >> 32U) * static_cast<uint64_t>(bound)) >> 32U);
}

}  // namespace planwright
