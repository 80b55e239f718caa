#include "core/schedule/pattern_search.h"

#include <algorithm>
#include <cstddef>

#include "core/base/index.h"
#include "core/base/known.h"

namespace planwright {
namespace {

// Nodes between two looks at the clock; a node takes microseconds, of very many stages a millisecond.
constexpr int64_t kNodesPerLook = 8;
// Distances drawn between two looks within a node: about a millisecond.
constexpr int64_t kDistancesPerLook = 1 << 20;
constexpr std::size_t kMaxTreeBytes = std::size_t{256} << 20;
// The search for one period may take 1 / kSharesOfNodes of the nodes that are left.
constexpr int64_t kSharesOfNodes = 4;

// floor(a / b) for b > 0.
int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

void PatternSearcher::SetAllocation(const ChainAllocation& allocation) {
  constraints_ = ConstraintsOf(chain_, sums_, devices_, allocation);
  shifts_.assign(constraints_.pairs.size(), 0);
  nodes_ = 0;
  rows_ = 0;
  next_look_ = 0;
}

PatternAnswer PatternSearcher::Decide(Picoseconds period, const SolveLimits& limits) {
  if (!constraints_.has_room || period.count() < constraints_.load) return PatternAnswer::kInfeasible;
  // Differences of starts stay below 2 x steps x period.
  if (period.count() > kMaxQuantity / (2 * constraints_.num_steps() + 2)) return PatternAnswer::kUnknown;
  period_ = period.count();
  if (constraints_.rooms.empty()) {
    StartAnywhere();
    return PatternAnswer::kFeasible;
  }
  if (nodes_on_path_.empty()) nodes_on_path_.emplace_back();
  limits_ = &limits;
  last_node_ = limits.work > INT64_MAX - nodes_ ? INT64_MAX : nodes_ + limits.work;
  ++nodes_;
  is_interrupted_ = false;
  const bool is_possible = MakeRoot(nodes_on_path_.front());
  const PatternAnswer answer = is_possible ? Explore(0) : PatternAnswer::kInfeasible;
  // Nodes that were left half done look as if they were impossible.
  return is_interrupted_ && answer == PatternAnswer::kInfeasible ? PatternAnswer::kUnknown : answer;
}

// A node of depth + 1 would be one too many.
bool PatternSearcher::IsDeep(std::size_t depth) const {
  const std::size_t num_steps = constraints_.steps.size();
  return (depth + 2) * num_steps * num_steps * sizeof(int64_t) > kMaxTreeBytes;
}

// Nothing limits how long a step may wait: each gets a slot of its own on its resource, and takes the next one.
void PatternSearcher::StartAnywhere() {
  std::vector<int64_t> taken;
  std::vector<int64_t> starts;
  int64_t ready = 0;
  for (const PatternStep& step : constraints_.steps) {
    const std::size_t resource = Index(step.resource);
    if (resource >= taken.size()) taken.resize(resource + 1, 0);
    const int64_t wait = taken[resource] - ready;
    starts.push_back(ready + wait - FloorDivide(wait, period_) * period_);
    ready = starts.back() + step.duration.count();
    taken[resource] += step.duration.count();
  }
  for (std::size_t i = 0; i < constraints_.pairs.size(); ++i) {
    const PatternConstraints::Pair& pair = constraints_.pairs[i];
    shifts_[i] = static_cast<int32_t>(
        PatternConstraints::ShiftOf(pair, starts[Index(pair.before)], starts[Index(pair.after)], period_));
  }
}

bool PatternSearcher::MakeRoot(Node& root) {
  const int32_t num_steps = constraints_.num_steps();
  root.distance.resize(Index(num_steps) * Index(num_steps));
  int64_t* distance = root.distance.data();
  for (int32_t from = 0; from < num_steps; ++from) {
    for (int32_t to = 0; to < num_steps; ++to) {
      const int64_t periods = std::min(0, to - from);
      *distance++ = constraints_.earliest[Index(to)] - constraints_.earliest[Index(from)] + periods * (period_ - 1);
    }
  }
  root.low.assign(constraints_.pairs.size(), 0);
  root.high.assign(constraints_.pairs.size(), num_steps);
  for (const PatternConstraints::Room& room : constraints_.rooms) {
    for (const auto& [bytes, forward, backward] : room.stages) {
      int32_t& high = root.high[constraints_.PairOf(forward, backward)];
      if (bytes > 0) high = static_cast<int32_t>(std::min<int64_t>(high, room.bytes / bytes - 1));
    }
  }
  return Propagate(root);
}

bool PatternSearcher::Propagate(Node& node) {
  bool has_changed = true;
  while (has_changed) {
    has_changed = false;
    for (std::size_t pair = 0; pair < constraints_.pairs.size(); ++pair) {
      if (!Refine(node, pair, has_changed)) return false;
    }
    if (!has_changed && !RefineByMemory(node, has_changed)) return false;
  }
  return true;
}

// Draws the domain of a shift together, and tells the distances.
bool PatternSearcher::Refine(Node& node, std::size_t pair, bool& has_changed) {
  const auto& [before, after, ahead, behind] = constraints_.pairs[pair];
  const std::size_t num_steps = constraints_.steps.size();
  const int64_t shortest = node.distance[Index(before) * num_steps + Index(after)];
  const int64_t longest = -node.distance[Index(after) * num_steps + Index(before)];
  if (shortest + behind > (node.low[pair] + 1) * period_ &&
      !RaiseLow(node, pair, CeilDivide(shortest + behind, period_) - 1, has_changed)) {
    return false;
  }
  if (longest - ahead < node.high[pair] * period_) {
    return LowerHigh(node, pair, FloorDivide(longest - ahead, period_), has_changed);
  }
  const int64_t high_end = (node.high[pair] + 1) * period_ - behind;
  if (longest <= high_end) return true;
  has_changed = true;
  return Insert(node, after, before, -high_end);
}

bool PatternSearcher::RaiseLow(Node& node, std::size_t pair, int64_t low, bool& has_changed) {
  if (low <= node.low[pair]) return true;
  if (low > node.high[pair]) return false;
  node.low[pair] = static_cast<int32_t>(low);
  has_changed = true;
  const auto& [before, after, ahead, behind] = constraints_.pairs[pair];
  return Insert(node, before, after, low * period_ + ahead);
}

bool PatternSearcher::LowerHigh(Node& node, std::size_t pair, int64_t high, bool& has_changed) {
  if (high >= node.high[pair]) return true;
  if (high < node.low[pair]) return false;
  node.high[pair] = static_cast<int32_t>(high);
  has_changed = true;
  const auto& [before, after, ahead, behind] = constraints_.pairs[pair];
  return Insert(node, after, before, behind - (high + 1) * period_);
}

// A new edge in the matrix of longest paths; false: it closes a cycle that is too long, or the limits say stop.
bool PatternSearcher::Insert(Node& node, int32_t from, int32_t to, int64_t weight) {
  if (is_interrupted_) return false;
  const std::size_t num_steps = constraints_.steps.size();
  int64_t* const distance = node.distance.data();
  const int64_t* const from_to = distance + Index(to) * num_steps;
  if (distance[Index(from) * num_steps + Index(to)] >= weight) return true;
  if (from_to[from] + weight > 0) return false;
  for (std::size_t source = 0; source < num_steps; ++source) {
    int64_t* const row = distance + source * num_steps;
    const int64_t reached = row[from] + weight;
    if (reached <= row[to]) continue;
    for (std::size_t target = 0; target < num_steps; ++target) {
      row[target] = std::max(row[target], reached + from_to[target]);
    }
    ++rows_;
  }
  if (rows_ < next_look_) return true;
  next_look_ = rows_ + kDistancesPerLook / constraints_.num_steps();
  is_interrupted_ = CheckInterruption(*limits_).has_value();
  return !is_interrupted_;
}

bool PatternSearcher::RefineByMemory(Node& node, bool& has_changed) {
  for (const PatternConstraints::Room& room : constraints_.rooms) {
    // With one stage the domain of its shift says everything.
    if (room.stages.size() == 1) continue;
    for (std::size_t starting = 0; starting < room.stages.size(); ++starting) {
      if (!RefineByMemory(node, room, starting, has_changed)) return false;
    }
  }
  return true;
}

// What is kept when the forward pass of one stage starts: the least of each stage leaves so much for any other one.
bool PatternSearcher::RefineByMemory(Node& node, const PatternConstraints::Room& room, std::size_t starting,
                                     bool& has_changed) {
  const int32_t now = room.stages[starting].forward;
  const auto least_kept = [&](std::size_t stage) -> int64_t {
    const auto& [bytes, forward, backward] = room.stages[stage];
    const int64_t until_backward = node.low[constraints_.PairOf(now, backward)];
    if (stage == starting) return until_backward + 1;
    const int64_t always = node.low[constraints_.PairOf(forward, backward)];
    if (stage < starting) return std::max(always, node.low[constraints_.PairOf(forward, now)] + until_backward + 1);
    return std::max(always, until_backward - node.high[constraints_.PairOf(now, forward)]);
  };
  int64_t left = room.bytes;
  for (std::size_t stage = 0; stage < room.stages.size(); ++stage) left -= least_kept(stage) * room.stages[stage].bytes;
  if (left < 0) return false;
  for (std::size_t stage = 0; stage < room.stages.size(); ++stage) {
    const auto& [bytes, forward, backward] = room.stages[stage];
    if (bytes == 0) continue;
    const int64_t most = least_kept(stage) + left / bytes;
    const std::size_t until_backward = constraints_.PairOf(now, backward);
    if (stage == starting) {
      if (!LowerHigh(node, until_backward, most - 1, has_changed)) return false;
      continue;
    }
    if (!LowerHigh(node, constraints_.PairOf(forward, backward), most, has_changed)) return false;
    if (stage < starting) {
      const std::size_t since_forward = constraints_.PairOf(forward, now);
      if (!LowerHigh(node, until_backward, most - 1 - node.low[since_forward], has_changed)) return false;
      if (!LowerHigh(node, since_forward, most - 1 - node.low[until_backward], has_changed)) return false;
    } else {
      const std::size_t until_forward = constraints_.PairOf(now, forward);
      if (!LowerHigh(node, until_backward, most + node.high[until_forward], has_changed)) return false;
      if (!RaiseLow(node, until_forward, node.low[until_backward] - most, has_changed)) return false;
    }
  }
  return true;
}

// Depth first; the second half of a split domain replaces the node.
PatternAnswer PatternSearcher::Explore(std::size_t depth) {
  if (nodes_on_path_.size() <= depth + 1) nodes_on_path_.emplace_back();
  Node& node = nodes_on_path_[depth];
  while (true) {
    const std::optional<Split> split = FindConflict(node);
    if (!split.has_value()) return PatternAnswer::kFeasible;
    if (nodes_ >= last_node_ || IsDeep(depth)) return PatternAnswer::kUnknown;
    if (++nodes_ % kNodesPerLook == 0 && CheckInterruption(*limits_).has_value()) return PatternAnswer::kUnknown;
    Node& child = nodes_on_path_[depth + 1];
    child = node;
    if (Narrow(child, *split, split->is_upper_first)) {
      const PatternAnswer answer = Explore(depth + 1);
      if (answer != PatternAnswer::kInfeasible) return answer;
    }
    if (!Narrow(node, *split, !split->is_upper_first)) return PatternAnswer::kInfeasible;
  }
}

bool PatternSearcher::Narrow(Node& node, const Split& split, bool to_upper) {
  bool has_changed = false;
  const bool is_consistent = to_upper ? RaiseLow(node, split.pair, split.at + 1, has_changed)
                                      : LowerHigh(node, split.pair, split.at, has_changed);
  return is_consistent && Propagate(node);
}

std::optional<PatternSearcher::Split> PatternSearcher::FindConflict(const Node& node) {
  const std::optional<Split> overlap = FindOverlap(node);
  return overlap.has_value() ? overlap : FindExcess(node);
}

// Reads the shifts of the earliest starts off; of the pairs that overlap, the one with the smallest domain. The half is
// tried first that shifts a step less.
std::optional<PatternSearcher::Split> PatternSearcher::FindOverlap(const Node& node) {
  std::optional<Split> found;
  int32_t smallest = INT32_MAX;
  for (std::size_t pair = 0; pair < constraints_.pairs.size(); ++pair) {
    const int32_t width = node.high[pair] - node.low[pair];
    shifts_[pair] = node.low[pair];
    if (width == 0) continue;
    const PatternConstraints::Pair& steps = constraints_.pairs[pair];
    const int64_t start_before = node.distance[Index(steps.before)];
    const int64_t start_after = node.distance[Index(steps.after)];
    // Its lower end where two shifts are possible, as for steps without duration.
    shifts_[pair] = std::max(
        node.low[pair], static_cast<int32_t>(PatternConstraints::ShiftOf(steps, start_before, start_after, period_)));
    // How much later each of the two steps would have to be.
    const int64_t to_wait_after = start_before + shifts_[pair] * period_ + steps.ahead - start_after;
    const int64_t to_wait_before = start_after + steps.behind - start_before - shifts_[pair] * period_;
    if (width >= smallest || to_wait_after <= 0) continue;
    smallest = width;
    found = Split{pair, shifts_[pair] - 1, to_wait_after < to_wait_before};
  }
  return found;
}

// A shift to branch on because the earliest starts keep more than there is memory for when some stage begins; nullopt:
// they fit. Less is kept where the shift until the backward pass of a stage falls, where the one since the forward pass
// of a stage in front falls, or where the one until the forward pass of a stage behind grows. The first of these that
// its domain leaves free to do so is split at where it stands.
std::optional<PatternSearcher::Split> PatternSearcher::FindExcess(const Node& node) const {
  const auto shift = [this](std::size_t pair) { return int64_t{shifts_[pair]}; };
  for (const PatternConstraints::Room& room : constraints_.rooms) {
    for (std::size_t starting = 0; starting < room.stages.size(); ++starting) {
      int64_t left = room.bytes;
      for (std::size_t stage = 0; stage < room.stages.size(); ++stage) {
        left -= constraints_.Kept(room, starting, stage, shift) * room.stages[stage].bytes;
      }
      if (left >= 0) continue;
      const int32_t now = room.stages[starting].forward;
      for (std::size_t stage = 0; stage < room.stages.size(); ++stage) {
        const auto& [bytes, forward, backward] = room.stages[stage];
        const std::size_t until_backward = constraints_.PairOf(now, backward);
        if (shifts_[until_backward] > node.low[until_backward]) {
          return Split{until_backward, shifts_[until_backward] - 1, false};
        }
        if (stage < starting) {
          const std::size_t since_forward = constraints_.PairOf(forward, now);
          if (shifts_[since_forward] > node.low[since_forward]) {
            return Split{since_forward, shifts_[since_forward] - 1, false};
          }
        }
        if (stage > starting) {
          const std::size_t until_forward = constraints_.PairOf(now, forward);
          if (shifts_[until_forward] < node.high[until_forward]) {
            return Split{until_forward, shifts_[until_forward], true};
          }
        }
      }
    }
  }
  return std::nullopt;
}

PatternOutcome PatternSearcher::FindShortest(const SolveLimits& limits, std::optional<Picoseconds> target) {
  PatternOutcome outcome;
  outcome.is_proven = !constraints_.has_room;
  if (!constraints_.has_room) return outcome;
  first_node_ = nodes_;
  refuted_ = constraints_.load - 1;
  tried_ = refuted_;
  best_.reset();
  if (target.has_value()) {
    Try(target->count(), limits);
  } else {
    // One micro-batch at a time.
    std::fill(shifts_.begin(), shifts_.end(), 0);
    best_ = ShortestPeriod(constraints_, shifts_);
  }
  if (best_.has_value()) ShortenBest(limits);
  outcome.lower_bound = Picoseconds(refuted_ + 1);
  outcome.nodes = nodes_ - first_node_;
  if (best_.has_value()) {
    const std::vector<Picoseconds> starts(best_->starts.begin(), best_->starts.end());
    outcome.pattern = PatternOf(constraints_.steps, starts, Picoseconds(best_->period));
    outcome.is_proven = refuted_ + 1 == best_->period;
  }
  return outcome;
}

bool PatternSearcher::Try(int64_t period, const SolveLimits& limits) {
  SolveLimits deciding = limits;
  deciding.work = CeilDivide(limits.work - std::min(limits.work, nodes_ - first_node_), kSharesOfNodes);
  const PatternAnswer answer = Decide(Picoseconds(period), deciding);
  if (answer == PatternAnswer::kFeasible) {
    best_ = ShortestPeriod(constraints_, shifts_);
    return true;
  }
  tried_ = period;
  if (answer == PatternAnswer::kInfeasible) refuted_ = std::max(refuted_, period);
  return false;
}

// The largest load is often enough. A pattern that was drawn together is often the shortest: then one refutation just
// below it ends the search.
void PatternSearcher::ShortenBest(const SolveLimits& limits) {
  const auto shortest = [this] { return Known(best_).period; };
  if (shortest() == constraints_.load) return;
  bool has_shortened = false;
  Try(constraints_.load, limits);
  while (shortest() > tried_ + 1) {
    has_shortened = Try(has_shortened ? shortest() - 1 : tried_ + (shortest() - tried_) / 2, limits);
  }
}

PatternOutcome PatternSearch(const Chain& chain, const ChainDevices& devices, const ChainAllocation& allocation,
                             const SolveLimits& limits) {
  const ChainSums sums(chain);
  PatternSearcher searcher(chain, sums, devices);
  searcher.SetAllocation(allocation);
  return searcher.FindShortest(limits);
}

}  // namespace planwright
