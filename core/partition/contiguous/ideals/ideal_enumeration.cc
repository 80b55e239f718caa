#include "core/partition/contiguous/ideals/ideal_enumeration.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "core/base/index.h"
#include "core/base/polling.h"
#include "core/base/radix_sort.h"
#include "core/partition/contiguous/ideals/lane_prefix_sums.h"

namespace planwright {
namespace {

// Sub-trees that a long search is cut into; more than any machine has threads, and the same for every machine.
constexpr std::size_t kSubtrees = 256;
// Steps after which a search counts as long.
constexpr int64_t kShortSearchSteps = 50'000;
// Steps between two looks at the clock.
constexpr int64_t kStepsPerCheck = 4096;

// Whether a weight or a range of weights meets a window of any state.
class WindowUnion {
 public:
  explicit WindowUnion(std::span<const LoadWindow> windows) {
    for (const LoadWindow& window : windows) {
      if (!window.empty()) windows_.push_back(window);
    }
    std::sort(windows_.begin(), windows_.end(),
              [](const LoadWindow& a, const LoadWindow& b) { return a.min_weight < b.min_weight; });
    for (const LoadWindow& window : windows_) {
      if (!intervals_.empty() && window.min_weight <= intervals_.back().second) {
        intervals_.back().second = std::max(intervals_.back().second, window.max_weight);
      } else {
        intervals_.emplace_back(window.min_weight, window.max_weight);
      }
    }
  }

  bool Meets(int64_t low, int64_t high) const {
    const auto it = FirstEndingFrom(low);
    return it != intervals_.end() && it->first <= high;
  }

  // The least weight in a window from `weight` on; kMaxQuantity: there is none.
  int64_t NextFrom(int64_t weight) const {
    const auto it = FirstEndingFrom(weight);
    return it == intervals_.end() ? kMaxQuantity : std::max(weight, it->first);
  }

  bool Admits(int64_t weight, int64_t rest, int64_t border) const {
    if (!Meets(weight, weight)) return false;
    if (windows_.size() > kMaxScannedWindows) return true;
    return std::any_of(windows_.begin(), windows_.end(), [&](const LoadWindow& window) {
      return weight >= window.min_weight && weight <= window.max_weight && weight + border <= window.max_before &&
             rest + border <= window.max_after;
    });
  }

 private:
  // Looking at more windows costs more than it saves.
  static constexpr std::size_t kMaxScannedWindows = 64;

  using Intervals = std::vector<std::pair<int64_t, int64_t>>;

  Intervals::const_iterator FirstEndingFrom(int64_t weight) const {
    return std::lower_bound(intervals_.begin(), intervals_.end(), weight,
                            [](const auto& interval, int64_t value) { return interval.second < value; });
  }

  std::vector<LoadWindow> windows_;
  Intervals intervals_;
};

// Rows of numbers in one array: the innermost loops of the search run over them.
class FlatRows {
 public:
  void AddRow(std::span<const int32_t> row) {
    values_.insert(values_.end(), row.begin(), row.end());
    start_.push_back(static_cast<uint32_t>(values_.size()));
  }
  std::span<const int32_t> operator[](int32_t row) const {
    const int32_t* data = values_.data();
    return {data + start_[Index(row)], data + start_[Index(row) + 1]};
  }

 private:
  std::vector<int32_t> values_;
  std::vector<uint32_t> start_ = {0};
};

// The nets that stay near each other in one lane: which of them an ideal cuts depends on that lane alone.
class LocalNets {
 public:
  LocalNets(const BlockInstance& instance, const ChainLayout& layout) : is_local_(instance.nets.size(), false) {
    for (std::size_t lane = 0; lane < layout.num_lanes(); ++lane) AddLane(instance, layout, lane);
  }

  bool Holds(int32_t net) const { return is_local_[Index(net)]; }
  // Cut where the first `count` blocks of `lane` are in: the nets, and their total weight.
  std::span<const int32_t> CutAt(std::size_t lane, std::size_t count) const { return cut_[Row(lane, count)]; }
  int64_t BorderAt(std::size_t lane, std::size_t count) const { return borders_[Index(Row(lane, count))]; }

 private:
  // Blocks from the first to the last of a net: its places in `cut_` are bounded by it.
  static constexpr uint64_t kMaxSpan = 8;

  int32_t Row(std::size_t lane, std::size_t count) const { return static_cast<int32_t>(begin_[lane] + count); }

  void AddLane(const BlockInstance& instance, const ChainLayout& layout, std::size_t lane) {
    const std::vector<int32_t>& blocks = layout.lane(lane);
    std::vector<std::vector<int32_t>> cut(blocks.size() + 1);
    for (std::size_t first = 0; first < blocks.size(); ++first) {
      for (const int32_t net : instance.nets_of[Index(blocks[first])]) {
        const std::optional<uint64_t> last = LastOf(instance.nets[Index(net)], layout, lane, first);
        if (!last.has_value()) continue;
        is_local_[Index(net)] = true;
        for (std::size_t count = first + 1; count <= *last; ++count) cut[count].push_back(net);
      }
    }
    begin_.push_back(borders_.size());
    for (const std::vector<int32_t>& nets : cut) {
      cut_.AddRow(nets);
      int64_t& border = borders_.emplace_back(0);
      for (const int32_t net : nets) border += instance.nets[Index(net)].weight;
    }
  }

  // The last position of a net that is local to `lane` and starts at `first`.
  static std::optional<uint64_t> LastOf(const Net& net, const ChainLayout& layout, std::size_t lane, uint64_t first) {
    uint64_t last = first;
    for (const int32_t block : net.blocks) {
      const uint64_t position = layout.position_of(block);
      if (layout.lane_of(block) != lane || position < first || position - first >= kMaxSpan) return std::nullopt;
      last = std::max(last, position);
    }
    return last;
  }

  std::vector<bool> is_local_;
  FlatRows cut_;
  std::vector<int64_t> borders_;
  // By lane: its row for no blocks.
  std::vector<std::size_t> begin_;
};

struct MemoryPrefixSums {
  LanePrefixSums linear;
  LanePrefixSums parameters;
};

// What all branches share.
template <std::size_t W>
struct Shared {
  Shared(const BlockInstance& block_instance, const ChainLayout& chain_layout, const LoadWindows& weights_of_blocks,
         std::span<const LoadWindow> load_windows, bool needs_memory, const EnumerationLimits& most,
         const SolveLimits& solve_limits);

  const BlockInstance& instance;
  const ChainLayout& layout;
  const WindowUnion windows;
  const int64_t total_weight;
  const EnumerationLimits enumeration_limits;
  const SolveLimits& limits;
  // By block: the largest ideal without it.
  const std::vector<ChainCode<W>> without;
  // Weights; by pool times and, where it does not support all, numbers of unsupported blocks; memory, where needed.
  LanePrefixSums weights;
  std::vector<LanePrefixSums> times;
  std::vector<LanePrefixSums> unsupported;
  std::optional<MemoryPrefixSums> memory;
  const LocalNets local_nets;
  // By block; the nets that are not local.
  FlatRows successors;
  FlatRows nets_of;
  // By block: the first from it on in its lane with nets that are not local; the length of the lane: none.
  std::vector<uint64_t> next_tracked;
  // By net: number of blocks.
  std::vector<int32_t> net_sizes;
  std::atomic<int64_t> ideals{0};
  std::atomic<int64_t> bytes{0};
  std::atomic<EnumerationEnd> end{EnumerationEnd::kComplete};

  int64_t WeightOf(const ChainCode<W>& code) const { return weights.Below(layout, code); }
  bool stopped() const { return end.load(std::memory_order_relaxed) != EnumerationEnd::kComplete; }
  void Stop(EnumerationEnd reason) { end.store(reason, std::memory_order_relaxed); }
};

template <std::size_t W>
std::vector<ChainCode<W>> LargestIdealsWithout(const BlockInstance& instance, const ChainLayout& layout) {
  std::vector<ChainCode<W>> without(instance.operators.size());
  const ChainCode<W> full = layout.Full<W>();
  for (int32_t block = instance.num_blocks() - 1; block >= 0; --block) {
    ChainCode<W>& code = without[Index(block)];
    code = full;
    layout.Set(code, layout.lane_of(block), layout.position_of(block));
    for (const int32_t successor : instance.precedence.successors(block)) {
      code = LaneMin(code, without[Index(successor)], layout.top_bits());
    }
  }
  return without;
}

template <std::size_t W>
Shared<W>::Shared(const BlockInstance& block_instance, const ChainLayout& chain_layout,
                  const LoadWindows& weights_of_blocks, std::span<const LoadWindow> load_windows, bool needs_memory,
                  const EnumerationLimits& most, const SolveLimits& solve_limits)
    : instance(block_instance),
      layout(chain_layout),
      windows(load_windows),
      total_weight(weights_of_blocks.total_weight()),
      enumeration_limits(most),
      limits(solve_limits),
      without(LargestIdealsWithout<W>(instance, layout)),
      weights(layout, weights_of_blocks.weights()),
      local_nets(instance, layout) {
  for (const DevicePool& pool : instance.pools) {
    times.emplace_back(layout, pool.time);
    const auto is_unsupported = Mapped(pool.supported, [](bool supported) { return int64_t{supported ? 0 : 1}; });
    unsupported.emplace_back(pool.supports_all ? LanePrefixSums() : LanePrefixSums(layout, is_unsupported));
  }
  if (needs_memory) {
    memory = {.linear = {layout, instance.memory.linear}, .parameters = {layout, instance.memory.parameters}};
  }
  for (int32_t block = 0; block < instance.num_blocks(); ++block) {
    successors.AddRow(instance.precedence.successors(block));
    std::vector<int32_t> tracked = instance.nets_of[Index(block)];
    std::erase_if(tracked, [&](int32_t net) { return local_nets.Holds(net); });
    nets_of.AddRow(tracked);
  }
  next_tracked.resize(instance.operators.size());
  for (std::size_t lane = 0; lane < layout.num_lanes(); ++lane) {
    uint64_t next = layout.lane(lane).size();
    for (uint64_t position = next; position-- > 0;) {
      const int32_t block = layout.lane(lane)[position];
      if (!nets_of[block].empty()) next = position;
      next_tracked[Index(block)] = next;
    }
  }
  for (const Net& net : instance.nets) net_sizes.push_back(static_cast<int32_t>(net.blocks.size()));
}

// A branch: blocks that are in, free blocks still to decide, and the largest ideal without the excluded blocks.
template <std::size_t W>
struct Branch {
  std::vector<int32_t> blocks;
  std::vector<int32_t> candidates;
  ChainCode<W> upper_end;
  // Weight between the blocks that are in and the upper end.
  int64_t weight_range;
};

// The current ideal, updated block by block or along one lane.
template <std::size_t W>
class Cursor {
 public:
  explicit Cursor(const Shared<W>& shared)
      : shared_(shared),
        missing_(shared.instance.operators.size()),
        pins_inside_(shared.instance.nets.size(), 0),
        position_in_cut_(shared.instance.nets.size(), 0) {
    for (int32_t block = 0; block < shared.instance.num_blocks(); ++block) {
      missing_[Index(block)] = static_cast<int32_t>(shared.instance.precedence.predecessors(block).size());
    }
  }

  const ChainCode<W>& code() const { return code_; }
  int64_t weight() const { return weight_; }
  int64_t border() const { return border_; }

  // Adds `block` and appends the blocks that become free to `freed`.
  void Add(int32_t block, std::vector<int32_t>& freed) {
    Advance(shared_.layout.lane_of(block), shared_.layout.position_of(block) + 1);
    for (const int32_t successor : shared_.successors[block]) {
      if (--missing_[Index(successor)] == 0) freed.push_back(successor);
    }
  }

  void Remove(int32_t block) {
    Retreat(shared_.layout.lane_of(block), shared_.layout.position_of(block));
    for (const int32_t successor : shared_.successors[block]) ++missing_[Index(successor)];
  }

  // Adds blocks of `lane` up to `count`, or removes them, without a look at what becomes free. O(1) and the nets of
  // these blocks that are not local.
  void Advance(std::size_t lane, uint64_t count) {
    const uint64_t before = shared_.layout.Get(code_, lane);
    for (uint64_t i = NextTracked(lane, before); i < count; i = NextTracked(lane, i + 1)) {
      for (const int32_t net : shared_.nets_of[shared_.layout.lane(lane)[i]]) {
        const int32_t inside = ++pins_inside_[Index(net)];
        if (inside == 1) Cut(net);
        if (inside == shared_.net_sizes[Index(net)]) Uncut(net);
      }
    }
    SetLane(lane, before, count);
  }
  void Retreat(std::size_t lane, uint64_t count) {
    const uint64_t before = shared_.layout.Get(code_, lane);
    for (uint64_t i = NextTracked(lane, count); i < before; i = NextTracked(lane, i + 1)) {
      for (const int32_t net : shared_.nets_of[shared_.layout.lane(lane)[i]]) {
        const int32_t inside = --pins_inside_[Index(net)];
        if (inside == 0) Uncut(net);
        if (inside == shared_.net_sizes[Index(net)] - 1) Cut(net);
      }
    }
    SetLane(lane, before, count);
  }

  // Appends the ideal to `table`.
  void Emit(IdealTable<W>& table) const {
    const ChainLayout& layout = shared_.layout;
    table.codes.push_back(code_);
    table.weights.push_back(weight_);
    for (std::size_t pool = 0; pool < shared_.times.size(); ++pool) {
      table.times[pool].push_back(shared_.times[pool].Below(layout, code_));
      if (shared_.instance.pools[pool].supports_all) continue;
      table.unsupported[pool].push_back(static_cast<int32_t>(shared_.unsupported[pool].Below(layout, code_)));
    }
    table.borders.push_back(border_);
    table.cut_nets.insert(table.cut_nets.end(), cut_.begin(), cut_.end());
    for (std::size_t lane = 0; lane < layout.num_lanes(); ++lane) {
      const std::span<const int32_t> nets = shared_.local_nets.CutAt(lane, layout.Get(code_, lane));
      table.cut_nets.insert(table.cut_nets.end(), nets.begin(), nets.end());
    }
    table.cut_start.push_back(static_cast<int64_t>(table.cut_nets.size()));
    const std::optional<MemoryPrefixSums>& memory = shared_.memory;
    if (!memory.has_value()) return;
    table.memory.push_back({memory->linear.Below(layout, code_), memory->parameters.Below(layout, code_)});
  }

 private:
  // The first position from `position` on whose block has nets that are not local.
  uint64_t NextTracked(std::size_t lane, uint64_t position) const {
    const std::vector<int32_t>& blocks = shared_.layout.lane(lane);
    return position < blocks.size() ? shared_.next_tracked[Index(blocks[position])] : position;
  }

  void SetLane(std::size_t lane, uint64_t before, uint64_t count) {
    shared_.layout.Set(code_, lane, count);
    weight_ += shared_.weights.Of(lane, count) - shared_.weights.Of(lane, before);
    border_ += shared_.local_nets.BorderAt(lane, count) - shared_.local_nets.BorderAt(lane, before);
  }

  void Cut(int32_t net) {
    border_ += shared_.instance.nets[Index(net)].weight;
    position_in_cut_[Index(net)] = cut_.size();
    cut_.push_back(net);
  }

  void Uncut(int32_t net) {
    border_ -= shared_.instance.nets[Index(net)].weight;
    const std::size_t position = position_in_cut_[Index(net)];
    cut_[position] = cut_.back();
    position_in_cut_[Index(cut_[position])] = position;
    cut_.pop_back();
  }

  const Shared<W>& shared_;
  ChainCode<W> code_{};
  int64_t weight_ = 0;
  // The weight of all nets that the ideal cuts; the other members know only nets that are not local.
  int64_t border_ = 0;
  // Predecessors of each block that are not in the ideal.
  std::vector<int32_t> missing_;
  std::vector<int32_t> pins_inside_;
  std::vector<int32_t> cut_;
  std::vector<std::size_t> position_in_cut_;
};

template <std::size_t W>
void Reset(const BlockInstance& instance, IdealTable<W>& table) {
  table = IdealTable<W>();
  table.times.resize(instance.pools.size());
  table.unsupported.resize(instance.pools.size());
  table.cut_start.assign(1, 0);
}

// Depth-first search of one branch, without recursion: a chain of 100,000 operators must not exhaust the stack.
template <std::size_t W>
class BranchSearch {
 public:
  BranchSearch(Shared<W>& shared, const Branch<W>& branch, IdealTable<W>& table)
      : shared_(shared), cursor_(shared), table_(table) {
    for (const int32_t block : branch.blocks) {
      freed_.clear();
      cursor_.Add(block, freed_);
    }
    candidates_ = branch.candidates;
    frames_.push_back({kNoBlock, 0, 0, branch.upper_end, shared.WeightOf(branch.upper_end)});
  }

  // True: done. False: stopped by a limit of the search, or `max_steps` were not enough.
  bool Run(int64_t max_steps) {
    while (!frames_.empty()) {
      ++steps_;
      if (steps_ > max_steps || (steps_ >= next_check_ && !MayGoOn())) return false;
      Step();
    }
    return MayGoOn();
  }

 private:
  static constexpr int32_t kNoBlock = -1;
  struct Frame {
    // The block whose inclusion opened the frame.
    int32_t block;
    // Its undecided candidates are candidates_[next ..]; they began at `begin`.
    std::size_t begin;
    std::size_t next;
    ChainCode<W> upper_end;
    int64_t upper_weight;
  };

  void Step() {
    Frame& frame = frames_.back();
    if (frame.next == candidates_.size() || !shared_.windows.Meets(cursor_.weight(), frame.upper_weight)) {
      Close();
      return;
    }
    const int32_t block = candidates_[frame.next];
    const std::size_t lane = shared_.layout.lane_of(block);
    if (frame.next + 1 == candidates_.size() && IsOpenAlong(lane, frame.upper_end)) {
      FollowLane(lane, frame.upper_end);
      Close();
      return;
    }
    const int64_t weight = cursor_.weight() + BlockWeight(block);
    if (shared_.windows.Meets(weight, frame.upper_weight)) {
      Open(block);
    } else {
      Exclude(frame, block);
    }
  }

  int64_t BlockWeight(int32_t block) const {
    const std::size_t lane = shared_.layout.lane_of(block);
    const uint64_t position = shared_.layout.position_of(block);
    return shared_.weights.Of(lane, position + 1) - shared_.weights.Of(lane, position);
  }

  // Whether only blocks of `lane` are left to decide.
  bool IsOpenAlong(std::size_t lane, ChainCode<W> upper_end) const {
    shared_.layout.Set(upper_end, lane, shared_.layout.Get(cursor_.code(), lane));
    return upper_end == cursor_.code();
  }

  // Emits the ideals between the current one and `upper_end`, from window to window.
  void FollowLane(std::size_t lane, const ChainCode<W>& upper_end) {
    const uint64_t begin = shared_.layout.Get(cursor_.code(), lane);
    const uint64_t end = shared_.layout.Get(upper_end, lane);
    const int64_t weight = cursor_.weight() - shared_.weights.Of(lane, begin);
    for (uint64_t count = begin + 1; count <= end;) {
      const int64_t here = weight + shared_.weights.Of(lane, count);
      const int64_t next = shared_.windows.NextFrom(here);
      if (next > here) {
        count = shared_.weights.FirstAtLeast(next - weight, lane, count, end + 1);
        continue;
      }
      ++steps_;
      cursor_.Advance(lane, count++);
      EmitIfAdmitted();
    }
    cursor_.Retreat(lane, begin);
  }

  void EmitIfAdmitted() {
    const int64_t rest = shared_.total_weight - cursor_.weight();
    if (shared_.windows.Admits(cursor_.weight(), rest, cursor_.border())) cursor_.Emit(table_);
  }

  void Open(int32_t block) {
    const Frame& frame = frames_.back();
    freed_.clear();
    cursor_.Add(block, freed_);
    const Frame child{block, candidates_.size(), candidates_.size(), frame.upper_end, frame.upper_weight};
    const std::size_t later = frame.next + 1;
    const std::size_t end = candidates_.size();
    // Freed blocks first: they follow the branch that was just entered.
    candidates_.insert(candidates_.end(), freed_.begin(), freed_.end());
    for (std::size_t i = later; i < end; ++i) candidates_.push_back(candidates_[i]);
    ends_.push_back(end);
    frames_.push_back(child);
    EmitIfAdmitted();
  }

  void Close() {
    const int32_t block = frames_.back().block;
    frames_.pop_back();
    if (block == kNoBlock) return;
    candidates_.resize(ends_.back());
    ends_.pop_back();
    cursor_.Remove(block);
    Exclude(frames_.back(), block);
  }

  void Exclude(Frame& frame, int32_t block) {
    ++frame.next;
    frame.upper_end = LaneMin(frame.upper_end, shared_.without[Index(block)], shared_.layout.top_bits());
    frame.upper_weight = shared_.WeightOf(frame.upper_end);
  }

  // Publishes the growth of the table and looks at all limits.
  bool MayGoOn() {
    next_check_ = steps_ + kStepsPerCheck;
    const auto ideals = static_cast<int64_t>(table_.size());
    const int64_t bytes = table_.Bytes();
    const int64_t all_ideals = shared_.ideals += ideals - published_ideals_;
    const int64_t all_bytes = shared_.bytes += bytes - published_bytes_;
    published_ideals_ = ideals;
    published_bytes_ = bytes;
    if (all_ideals > shared_.enumeration_limits.max_ideals) shared_.Stop(EnumerationEnd::kTooMany);
    if (all_bytes > shared_.enumeration_limits.max_bytes) shared_.Stop(EnumerationEnd::kTooLarge);
    if (CheckInterruption(shared_.limits).has_value()) shared_.Stop(EnumerationEnd::kInterrupted);
    return !shared_.stopped();
  }

  Shared<W>& shared_;
  Cursor<W> cursor_;
  IdealTable<W>& table_;
  std::vector<Frame> frames_;
  // Candidate lists of all frames, one after the other; ends_ has the end of every list but the last.
  std::vector<int32_t> candidates_;
  std::vector<std::size_t> ends_;
  std::vector<int32_t> freed_;
  int64_t steps_ = 0;
  int64_t next_check_ = kStepsPerCheck;
  int64_t published_ideals_ = 0;
  int64_t published_bytes_ = 0;
};

template <std::size_t W>
Branch<W> RootBranch(const Shared<W>& shared) {
  Branch<W> root{{}, {}, shared.layout.template Full<W>(), shared.total_weight};
  for (int32_t block = 0; block < shared.instance.num_blocks(); ++block) {
    if (shared.instance.precedence.predecessors(block).empty()) root.candidates.push_back(block);
  }
  return root;
}

// Splits the search into branches, always the one with the widest range of weights, and puts the ideals met on the way
// into `table`.
template <std::size_t W>
std::vector<Branch<W>> SplitIntoBranches(Shared<W>& shared, std::size_t wanted, IdealTable<W>& table) {
  std::vector<Branch<W>> branches(1, RootBranch(shared));
  const auto is_narrower = [](const Branch<W>& a, const Branch<W>& b) { return a.weight_range < b.weight_range; };
  // A branch gives at most two, so this many rounds are enough or the search is a thin one.
  const std::size_t max_rounds = 16 * wanted;
  for (std::size_t round = 0; round < max_rounds && !branches.empty() && branches.size() < wanted; ++round) {
    std::pop_heap(branches.begin(), branches.end(), is_narrower);
    Branch<W> without = std::move(branches.back());
    branches.pop_back();
    std::vector<int32_t> freed;
    Cursor<W> cursor(shared);
    for (const int32_t block : without.blocks) {
      freed.clear();
      cursor.Add(block, freed);
    }
    const int64_t upper_weight = cursor.weight() + without.weight_range;
    if (without.candidates.empty() || !shared.windows.Meets(cursor.weight(), upper_weight)) continue;
    const int32_t block = without.candidates.front();
    without.candidates.erase(without.candidates.begin());
    Branch<W> with = without;
    without.upper_end = LaneMin(without.upper_end, shared.without[Index(block)], shared.layout.top_bits());
    without.weight_range = shared.WeightOf(without.upper_end) - cursor.weight();
    freed.clear();
    cursor.Add(block, freed);
    with.blocks.push_back(block);
    with.candidates.insert(with.candidates.begin(), freed.begin(), freed.end());
    with.weight_range = upper_weight - cursor.weight();
    const int64_t rest = shared.total_weight - cursor.weight();
    if (shared.windows.Admits(cursor.weight(), rest, cursor.border())) cursor.Emit(table);
    for (Branch<W>* branch : {&with, &without}) {
      branches.push_back(std::move(*branch));
      std::push_heap(branches.begin(), branches.end(), is_narrower);
    }
  }
  return branches;
}

template <typename T>
void AppendTo(std::vector<T>& target, std::vector<T>& source) {
  target.insert(target.end(), source.begin(), source.end());
  source = {};
}

template <std::size_t W>
void Append(IdealTable<W>& target, IdealTable<W>& source) {
  const int64_t offset = target.cut_start.back();
  for (std::size_t i = 1; i < source.cut_start.size(); ++i) target.cut_start.push_back(offset + source.cut_start[i]);
  source.cut_start = {};
  AppendTo(target.codes, source.codes);
  AppendTo(target.weights, source.weights);
  for (std::size_t pool = 0; pool < target.times.size(); ++pool) {
    AppendTo(target.times[pool], source.times[pool]);
    AppendTo(target.unsupported[pool], source.unsupported[pool]);
  }
  AppendTo(target.borders, source.borders);
  AppendTo(target.cut_nets, source.cut_nets);
  AppendTo(target.memory, source.memory);
}

// Starts over in branches. They depend on the instance only, so the ideals come out in the same order for any arena.
template <std::size_t W>
void EnumerateInParallel(Shared<W>& shared, TaskArena& arena, IdealTable<W>& table) {
  shared.ideals = 0;
  shared.bytes = 0;
  Reset(shared.instance, table);
  Cursor<W>(shared).Emit(table);
  const std::vector<Branch<W>> branches = SplitIntoBranches(shared, kSubtrees, table);
  std::vector<IdealTable<W>> parts(branches.size());
  arena.ParallelFor(branches.size(), 1, [&](std::size_t i) {
    if (shared.stopped()) return;
    Reset(shared.instance, parts[i]);
    BranchSearch<W>(shared, branches[i], parts[i]).Run(std::numeric_limits<int64_t>::max());
  });
  if (shared.stopped()) return;
  for (IdealTable<W>& part : parts) {
    if (CheckInterruption(shared.limits).has_value()) return shared.Stop(EnumerationEnd::kInterrupted);
    Append(table, part);
  }
}

// Elements that one task moves.
constexpr std::size_t kMovesPerTask = std::size_t{1} << 16U;

// Runs move(i) for i in [0, count) in parallel. False: interrupted.
template <typename Move>
bool MoveAll(std::size_t count, const SolveLimits& limits, TaskArena& arena, Move move) {
  std::atomic<bool> interrupted{false};
  arena.ParallelForRanges(count, kMovesPerTask, [&](std::size_t begin, std::size_t end) {
    if (interrupted.load(std::memory_order_relaxed)) return;
    if (CheckInterruption(limits).has_value()) interrupted.store(true, std::memory_order_relaxed);
    for (std::size_t i = begin; i < end; ++i) move(i);
  });
  return !interrupted;
}

template <typename T>
bool Permute(std::vector<T>& values, const std::vector<uint32_t>& order, const SolveLimits& limits, TaskArena& arena) {
  if (values.empty()) return true;
  std::vector<T> sorted(values.size());
  if (!MoveAll(order.size(), limits, arena, [&](std::size_t i) { sorted[i] = values[order[i]]; })) return false;
  values = std::move(sorted);
  return true;
}

template <std::size_t W>
bool PermuteCutNets(IdealTable<W>& table, const std::vector<uint32_t>& order, Poller& poller) {
  std::vector<int64_t> cut_start(1, 0);
  std::vector<int32_t> cut_nets;
  cut_start.reserve(table.cut_start.size());
  cut_nets.reserve(table.cut_nets.size());
  for (const uint32_t ideal : order) {
    if (poller.ShouldStop()) return false;
    const auto nets = table.CutNets(ideal);
    cut_nets.insert(cut_nets.end(), nets.begin(), nets.end());
    cut_start.push_back(static_cast<int64_t>(cut_nets.size()));
  }
  table.cut_start = std::move(cut_start);
  table.cut_nets = std::move(cut_nets);
  return true;
}

// Positions of the ideals in ascending order of weight, ties by code. False: interrupted.
template <std::size_t W>
bool OrderByWeight(const IdealTable<W>& table, std::vector<uint32_t>& order, Poller& poller) {
  order.resize(table.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(i);
  const int64_t greatest = *std::max_element(table.weights.begin(), table.weights.end());
  const auto weight_of = [&](uint32_t ideal) { return static_cast<uint64_t>(table.weights[ideal]); };
  if (!StableRadixSort(order, static_cast<uint64_t>(greatest), poller, weight_of)) return false;
  for (auto begin = order.begin(); begin != order.end();) {
    const uint64_t weight = weight_of(*begin);
    const auto end = std::find_if(begin, order.end(), [&](uint32_t ideal) { return weight_of(ideal) != weight; });
    std::sort(begin, end, [&](uint32_t a, uint32_t b) { return table.codes[a] < table.codes[b]; });
    if (poller.ShouldStop()) return false;
    begin = end;
  }
  return true;
}

// False: interrupted.
template <std::size_t W>
bool SortByWeight(IdealTable<W>& table, const SolveLimits& limits, TaskArena& arena) {
  Poller poller(limits);
  std::vector<uint32_t> order;
  if (!OrderByWeight(table, order, poller) || !PermuteCutNets(table, order, poller)) return false;
  bool done = Permute(table.codes, order, limits, arena) && Permute(table.weights, order, limits, arena);
  for (auto& times : table.times) done = done && Permute(times, order, limits, arena);
  for (auto& unsupported : table.unsupported) done = done && Permute(unsupported, order, limits, arena);
  return done && Permute(table.borders, order, limits, arena) && Permute(table.memory, order, limits, arena);
}

// Fills spatial_ranks. O(n log n).
template <std::size_t W>
class SpatialOrder {
 public:
  SpatialOrder(const ChainLayout& layout, IdealTable<W>& table, const SolveLimits& limits)
      : layout_(layout), table_(table), limits_(limits) {}

  // False: interrupted.
  bool Fill(TaskArena& arena) {
    items_.resize(table_.size());
    if (!MoveAll(items_.size(), limits_, arena, [&](std::size_t i) {
          items_[i] = {table_.codes[i], static_cast<uint32_t>(i)};
        })) {
      return false;
    }
    scratch_.resize(items_.size());
    // Large parts one after the other, small ones at the same time.
    std::vector<Part> parts(1, Part{0, items_.size(), {}, layout_.Full<W>()});
    const std::vector<Part> small = HalveDownTo(std::max(kSmallestPart, items_.size() / kSmallParts), std::move(parts));
    std::atomic<bool> interrupted{false};
    arena.ParallelFor(small.size(), 1, [&](std::size_t i) {
      HalveDownTo(kSmallestPart, {small[i]});
      if (CheckInterruption(limits_).has_value()) interrupted.store(true, std::memory_order_relaxed);
    });
    if (interrupted || CheckInterruption(limits_).has_value()) return false;
    table_.spatial_ranks.resize(items_.size());
    return MoveAll(items_.size(), limits_, arena,
                   [&](std::size_t rank) { table_.spatial_ranks[items_[rank].ideal] = static_cast<uint32_t>(rank); });
  }

 private:
  static constexpr std::size_t kSmallestPart = 32;
  static constexpr std::size_t kSmallParts = 64;
  struct Item {
    ChainCode<W> code;
    uint32_t ideal;
  };
  // Items [begin, end), with lane-wise bounds on their codes.
  struct Part {
    std::size_t begin;
    std::size_t end;
    ChainCode<W> low;
    ChainCode<W> high;
  };

  // Halves until no part has more than `size` items. Stops early when interrupted.
  std::vector<Part> HalveDownTo(std::size_t size, std::vector<Part> parts) {
    std::vector<Part> done;
    Poller poller(limits_);
    while (!parts.empty()) {
      Part part = parts.back();
      parts.pop_back();
      if (part.end - part.begin <= size) {
        done.push_back(part);
        continue;
      }
      Part upper = part;
      if (!Halve(part, upper, poller)) return done;
      parts.push_back(upper);
      parts.push_back(part);
    }
    return done;
  }

  // Cuts `part` at the median value of its widest lane; the upper part goes to `upper`, a copy of `part`. One of the
  // two may be empty, and then the bounds of the other are tighter than before. False: interrupted.
  bool Halve(Part& part, Part& upper, Poller& poller) {
    const std::size_t lane = WidestLane(part);
    const uint64_t low = layout_.Get(part.low, lane);
    const uint64_t high = layout_.Get(part.high, lane);
    std::vector<std::size_t> count(static_cast<std::size_t>(high - low) + 1, 0);
    for (std::size_t i = part.begin; i < part.end; ++i) {
      if (poller.ShouldStop()) return false;
      ++count[static_cast<std::size_t>(layout_.Get(items_[i].code, lane) - low)];
    }
    // The least value above `low` with half of the items below it.
    std::size_t below = count[0];
    uint64_t value = low + 1;
    for (; value < high && 2 * below < part.end - part.begin; ++value)
      below += count[static_cast<std::size_t>(value - low)];
    std::size_t next_lower = part.begin;
    std::size_t next_upper = part.begin + below;
    for (std::size_t i = part.begin; i < part.end; ++i) {
      if (poller.ShouldStop()) return false;
      const bool is_lower = layout_.Get(items_[i].code, lane) < value;
      scratch_[is_lower ? next_lower++ : next_upper++] = items_[i];
    }
    const auto at = [](std::vector<Item>& items, std::size_t i) {
      return items.begin() + static_cast<std::ptrdiff_t>(i);
    };
    std::copy(at(scratch_, part.begin), at(scratch_, part.end), at(items_, part.begin));
    part.end = upper.begin = part.begin + below;
    layout_.Set(part.high, lane, value - 1);
    layout_.Set(upper.low, lane, value);
    return true;
  }

  std::size_t WidestLane(const Part& part) const {
    std::size_t widest = 0;
    uint64_t width = 0;
    for (std::size_t lane = 0; lane < layout_.num_lanes(); ++lane) {
      const uint64_t lane_width = layout_.Get(part.high, lane) - layout_.Get(part.low, lane);
      if (lane_width <= width) continue;
      width = lane_width;
      widest = lane;
    }
    return widest;
  }

  const ChainLayout& layout_;
  IdealTable<W>& table_;
  const SolveLimits& limits_;
  std::vector<Item> items_;
  std::vector<Item> scratch_;
};

template <typename T>
int64_t BytesOf(const std::vector<T>& values) {
  return static_cast<int64_t>(values.capacity() * sizeof(T));
}

}  // namespace

template <std::size_t W>
int64_t IdealTable<W>::Bytes() const {
  int64_t bytes = BytesOf(codes) + BytesOf(weights) + BytesOf(borders) + BytesOf(cut_start) + BytesOf(cut_nets) +
                  BytesOf(memory) + BytesOf(spatial_ranks);
  for (const auto& pool_times : times) bytes += BytesOf(pool_times);
  for (const auto& pool_unsupported : unsupported) bytes += BytesOf(pool_unsupported);
  return bytes;
}

template <std::size_t W>
EnumerationEnd EnumerateIdeals(const BlockInstance& instance, const ChainLayout& layout,
                               const LoadWindows& load_windows, std::span<const LoadWindow> windows, bool with_memory,
                               const EnumerationLimits& enumeration_limits, const SolveLimits& limits, TaskArena& arena,
                               IdealTable<W>& table) {
  Shared<W> shared(instance, layout, load_windows, windows, with_memory, enumeration_limits, limits);
  Reset(instance, table);
  Cursor<W>(shared).Emit(table);
  if (!BranchSearch<W>(shared, RootBranch(shared), table).Run(kShortSearchSteps) && !shared.stopped()) {
    EnumerateInParallel(shared, arena, table);
  }
  if (shared.stopped()) return shared.end;
  const bool is_sorted = SortByWeight(table, limits, arena) && SpatialOrder<W>(layout, table, limits).Fill(arena);
  return is_sorted ? EnumerationEnd::kComplete : EnumerationEnd::kInterrupted;
}

#define PLANWRIGHT_INSTANTIATE(W)                                                                          \
  template struct IdealTable<W>;                                                                           \
  template EnumerationEnd EnumerateIdeals<W>(const BlockInstance&, const ChainLayout&, const LoadWindows&, \
                                             std::span<const LoadWindow>, bool, const EnumerationLimits&,  \
                                             const SolveLimits&, TaskArena&, IdealTable<W>&);
PLANWRIGHT_INSTANTIATE(1)
PLANWRIGHT_INSTANTIATE(2)
PLANWRIGHT_INSTANTIATE(4)
PLANWRIGHT_INSTANTIATE(8)
PLANWRIGHT_INSTANTIATE(16)
#undef PLANWRIGHT_INSTANTIATE

}  // namespace planwright
