#include "core/partition/reached_set.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace planwright {
namespace {

std::size_t Index(int32_t value) { return static_cast<std::size_t>(value); }

// Sets up to this size are scanned; a tree does not pay for itself below.
constexpr std::size_t kMaxScanned = 256;
constexpr std::size_t kLeafSize = 32;

// b(I') - p(I') on `pool`.
template <std::size_t W>
int64_t Offset(const BlockInstance& instance, const IdealTable<W>& table, std::size_t ideal, std::size_t pool) {
  const int64_t border = instance.pools[pool].pays_transfers ? table.borders[ideal] : 0;
  return border - table.times[pool][ideal];
}

}  // namespace

template <std::size_t W>
StageCosts<W>::StageCosts(const BlockInstance& instance, const ChainLayout& layout)
    : instance_(instance), layout_(layout) {
  ChainCode<W> none{};
  for (std::size_t lane = 0; lane < layout.num_lanes(); ++lane) layout.Set(none, lane, layout.lane(lane).size());
  for (const Net& net : instance.nets) {
    ChainCode<W>& first = first_pins_.emplace_back(none);
    for (const int32_t block : net.blocks) {
      const std::size_t lane = layout.lane_of(block);
      layout.Set(first, lane, std::min(layout.Get(first, lane), layout.position_of(block)));
    }
  }
  for (const DevicePool& pool : instance.pools) memory_binds_.push_back(MemoryCanBind(instance, pool));
  for (int32_t block = 0; block < instance.num_blocks(); ++block) {
    if (instance.memory.workspace[Index(block)] > 0) blocks_by_workspace_.push_back(block);
  }
  std::stable_sort(blocks_by_workspace_.begin(), blocks_by_workspace_.end(), [&](int32_t a, int32_t b) {
    return instance.memory.workspace[Index(a)] > instance.memory.workspace[Index(b)];
  });
}

template <std::size_t W>
bool StageCosts<W>::NeedsMemory() const {
  return std::find(memory_binds_.begin(), memory_binds_.end(), true) != memory_binds_.end();
}

template <std::size_t W>
bool StageCosts<W>::Fits(const IdealTable<W>& table, std::size_t from, std::size_t to, std::size_t pool) const {
  const auto& unsupported = table.unsupported[pool];
  if (!unsupported.empty() && unsupported[to] != unsupported[from]) return false;
  if (!memory_binds_[pool]) return true;
  const MemorySums sums = table.memory[to] - table.memory[from];
  const int64_t buffers = CutBuffers(table, from, to);
  const int64_t workspace = LargestWorkspace(table.codes[from], table.codes[to]);
  if (sums.Total(instance_.memory, buffers, workspace) <= *instance_.pools[pool].memory_bytes) return true;
  has_refused_memory_.store(true, std::memory_order_relaxed);
  return false;
}

// A net of either boundary is cut by the stage unless its part below `to` lies below `from` already.
template <std::size_t W>
int64_t StageCosts<W>::CutBuffers(const IdealTable<W>& table, std::size_t from, std::size_t to) const {
  const auto in_stage = [&](int32_t net) {
    const auto& blocks = instance_.nets[Index(net)].blocks;
    return std::any_of(blocks.begin(), blocks.end(), [&](int32_t block) {
      return layout_.Contains(table.codes[to], block) && !layout_.Contains(table.codes[from], block);
    });
  };
  int64_t buffers = 0;
  const auto upper = table.CutNets(to);
  for (const int32_t net : upper) {
    if (in_stage(net)) buffers += instance_.nets[Index(net)].buffer_bytes;
  }
  for (const int32_t net : table.CutNets(from)) {
    const bool counted = std::find(upper.begin(), upper.end(), net) != upper.end();
    if (!counted && in_stage(net)) buffers += instance_.nets[Index(net)].buffer_bytes;
  }
  return buffers;
}

template <std::size_t W>
int64_t StageCosts<W>::LargestWorkspace(const ChainCode<W>& from, const ChainCode<W>& to) const {
  for (const int32_t block : blocks_by_workspace_) {
    if (layout_.Contains(to, block) && !layout_.Contains(from, block)) return instance_.memory.workspace[Index(block)];
  }
  return 0;
}

template <std::size_t W>
StageQuery<W>::StageQuery(const StageCosts<W>& costs, const IdealTable<W>& table, std::size_t ideal, std::size_t pool)
    : code_(table.codes[ideal]), untouched_(code_), ideal_(ideal), pool_(pool), time_(table.times[pool][ideal]) {
  if (!costs.instance().pools[pool].pays_transfers) return;
  const ChainLayout& layout = costs.layout();
  border_ = table.borders[ideal];
  for (const int32_t net : table.CutNets(ideal)) {
    const Net& data = costs.instance().nets[Index(net)];
    if (data.weight == 0) continue;
    CutNet& cut = nets_.emplace_back(CutNet{data.weight, &costs.FirstPins(net), {}});
    for (const int32_t block : data.blocks) {
      const std::size_t lane = layout.lane_of(block);
      if (!layout.Contains(code_, block)) continue;
      layout.Set(cut.inside, lane, std::max(layout.Get(cut.inside, lane), layout.position_of(block) + 1));
    }
    untouched_ = LaneMin(untouched_, *cut.first_pins, layout.top_bits());
  }
}

template <std::size_t W>
int64_t StageQuery<W>::Correction(const ChainCode<W>& from, uint64_t top_bits) const {
  if (nets_.empty() || IsSubset(from, untouched_, top_bits)) return 0;
  int64_t correction = 0;
  for (const CutNet& net : nets_) {
    if (IsSubset(from, *net.first_pins, top_bits)) continue;
    correction += IsSubset(net.inside, from, top_bits) ? 2 * net.weight : net.weight;
  }
  return correction;
}

template <std::size_t W>
ReachedSet<W>::ReachedSet(const StageCosts<W>& costs, const IdealTable<W>& table, std::vector<uint32_t> ideals)
    : ideals_(std::move(ideals)), entries_(ideals_) {
  if (entries_.size() > kMaxScanned) BuildTree(costs, table);
  codes_.reserve(entries_.size());
  for (const uint32_t ideal : entries_) codes_.push_back(table.codes[ideal]);
  for (std::size_t pool = 0; pool < costs.instance().pools.size(); ++pool) {
    auto& offsets = offsets_.emplace_back();
    offsets.reserve(entries_.size());
    for (const uint32_t ideal : entries_) offsets.push_back(Offset(costs.instance(), table, ideal, pool));
  }
}

template <std::size_t W>
int64_t ReachedSet<W>::Bytes() const {
  const std::size_t per_entry = 2 * sizeof(uint32_t) + sizeof(ChainCode<W>) + offsets_.size() * sizeof(int64_t);
  return static_cast<int64_t>(entries_.size() * per_entry + nodes_.size() * sizeof(Node) +
                              extremes_.size() * sizeof(Extremes));
}

// What stays the same while one query walks the tree.
template <std::size_t W>
struct ReachedSet<W>::Probe {
  const StageCosts<W>& costs;
  const IdealTable<W>& table;
  const StageQuery<W>& query;
  int64_t max_load;
  uint64_t top_bits;
  bool is_constrained;
  // max_load - base: an entry below I with offset - correction at most this is a start.
  int64_t slack;
};

template <std::size_t W>
bool ReachedSet<W>::Reaches(const StageCosts<W>& costs, const IdealTable<W>& table, const StageQuery<W>& query,
                            int64_t max_load, int64_t min_weight) const {
  const Probe probe{costs,
                    table,
                    query,
                    max_load,
                    costs.layout().top_bits(),
                    costs.IsConstrained(query.pool()),
                    max_load - query.base()};
  if (!nodes_.empty()) return ReachesFromNode(probe, 0);
  const auto weight_of = [&](uint32_t ideal) { return table.weights[ideal]; };
  const auto begin = std::partition_point(entries_.begin(), entries_.end(),
                                          [&](uint32_t ideal) { return weight_of(ideal) < min_weight; });
  const auto end = std::partition_point(
      begin, entries_.end(), [&](uint32_t ideal) { return weight_of(ideal) <= table.weights[query.ideal()]; });
  return ReachesFromRange(probe, static_cast<std::size_t>(begin - entries_.begin()),
                          static_cast<std::size_t>(end - entries_.begin()));
}

template <std::size_t W>
bool ReachedSet<W>::ReachesFromRange(const Probe& probe, std::size_t begin, std::size_t end) const {
  const std::vector<int64_t>& offsets = offsets_[probe.query.pool()];
  // The correction is at most twice the border.
  const int64_t loosest = probe.slack + 2 * probe.query.border();
  for (std::size_t entry = end; entry-- > begin;) {
    const int64_t offset = offsets[entry];
    if (offset > loosest || !IsSubset(codes_[entry], probe.query.code(), probe.top_bits)) continue;
    if (offset > probe.slack && offset - probe.query.Correction(codes_[entry], probe.top_bits) > probe.slack) continue;
    if (entries_[entry] == probe.query.ideal()) continue;
    if (!probe.is_constrained ||
        probe.costs.Fits(probe.table, entries_[entry], probe.query.ideal(), probe.query.pool())) {
      return true;
    }
  }
  return false;
}

template <std::size_t W>
std::optional<int64_t> ReachedSet<W>::LoadBound(const Probe& probe, uint32_t index, int64_t& correction) const {
  const Node& node = nodes_[index];
  if (!IsSubset(node.meet, probe.query.code(), probe.top_bits)) return std::nullopt;
  const Extremes& extremes = extremes_[index * offsets_.size() + probe.query.pool()];
  const int64_t time = probe.query.time();
  const int64_t border = probe.query.border();
  // The compute time alone, and with the nets that only one of the two boundaries cuts.
  int64_t bound = std::max({time - extremes.max_time, time + border - extremes.max_time_plus_border,
                            time - border - extremes.max_time_minus_border});
  if (bound > probe.max_load) return std::nullopt;
  correction = probe.query.Correction(LaneMin(node.join, probe.query.code(), probe.top_bits), probe.top_bits);
  bound = std::max(bound, probe.query.base() + extremes.min_offset - correction);
  if (bound > probe.max_load) return std::nullopt;
  return bound;
}

template <std::size_t W>
bool ReachedSet<W>::ReachesFromNode(const Probe& probe, uint32_t root) const {
  // Depth first, the child with the better bound on top.
  struct Item {
    uint32_t node;
    int64_t bound;
    int64_t correction;
  };
  absl::InlinedVector<Item, 64> stack;
  const auto push = [&](uint32_t index) {
    Item item{index, 0, 0};
    const std::optional<int64_t> bound = LoadBound(probe, index, item.correction);
    if (!bound.has_value()) return;
    item.bound = *bound;
    stack.push_back(item);
  };
  push(root);
  while (!stack.empty()) {
    const Item item = stack.back();
    stack.pop_back();
    const Node& node = nodes_[item.node];
    // All entries lie below I and share one correction: the one with the least offset, whose load is `bound` at most,
    // is a start.
    const bool is_exact = !probe.is_constrained && IsSubset(node.join, probe.query.code(), probe.top_bits) &&
                          probe.query.Correction(node.meet, probe.top_bits) == item.correction;
    if (is_exact) {
      const Extremes& extremes = extremes_[item.node * offsets_.size() + probe.query.pool()];
      if (extremes.min_offset - item.correction <= probe.slack) return true;
      continue;
    }
    if (node.left == 0) {
      if (ReachesFromRange(probe, node.begin, node.end)) return true;
      continue;
    }
    const std::size_t before = stack.size();
    push(node.left);
    push(node.left + 1);
    if (stack.size() == before + 2 && stack[before].bound < stack[before + 1].bound) {
      std::swap(stack[before], stack[before + 1]);
    }
  }
  return false;
}

template <std::size_t W>
void ReachedSet<W>::BuildTree(const StageCosts<W>& costs, const IdealTable<W>& table) {
  const ChainLayout& layout = costs.layout();
  nodes_.push_back({{}, {}, 0, static_cast<uint32_t>(entries_.size()), 0});
  for (std::size_t index = 0; index < nodes_.size(); ++index) {
    SummarizeNode(costs, table, index);
    const Node node = nodes_[index];
    if (node.end - node.begin <= kLeafSize) continue;
    std::size_t widest = 0;
    uint64_t width = 0;
    for (std::size_t lane = 0; lane < layout.num_lanes(); ++lane) {
      const uint64_t lane_width = layout.Get(node.join, lane) - layout.Get(node.meet, lane);
      if (lane_width <= width) continue;
      width = lane_width;
      widest = lane;
    }
    const uint32_t middle = node.begin + (node.end - node.begin) / 2;
    const auto at = [&](uint32_t i) { return entries_.begin() + static_cast<std::ptrdiff_t>(i); };
    std::nth_element(at(node.begin), at(middle), at(node.end), [&](uint32_t a, uint32_t b) {
      const uint64_t left = layout.Get(table.codes[a], widest);
      const uint64_t right = layout.Get(table.codes[b], widest);
      return left != right ? left < right : a < b;
    });
    nodes_[index].left = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back({{}, {}, node.begin, middle, 0});
    nodes_.push_back({{}, {}, middle, node.end, 0});
  }
}

template <std::size_t W>
void ReachedSet<W>::SummarizeNode(const StageCosts<W>& costs, const IdealTable<W>& table, std::size_t index) {
  const BlockInstance& instance = costs.instance();
  Node& node = nodes_[index];
  const uint64_t top_bits = costs.layout().top_bits();
  node.meet = node.join = table.codes[entries_[node.begin]];
  for (uint32_t entry = node.begin; entry < node.end; ++entry) {
    node.meet = LaneMin(node.meet, table.codes[entries_[entry]], top_bits);
    node.join = LaneMax(node.join, table.codes[entries_[entry]], top_bits);
  }
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  for (std::size_t pool = 0; pool < instance.pools.size(); ++pool) {
    Extremes extremes{std::numeric_limits<int64_t>::max(), kLeast, kLeast, kLeast};
    for (uint32_t entry = node.begin; entry < node.end; ++entry) {
      const uint32_t ideal = entries_[entry];
      const int64_t time = table.times[pool][ideal];
      const int64_t border = instance.pools[pool].pays_transfers ? table.borders[ideal] : 0;
      extremes.min_offset = std::min(extremes.min_offset, border - time);
      extremes.max_time = std::max(extremes.max_time, time);
      extremes.max_time_plus_border = std::max(extremes.max_time_plus_border, time + border);
      extremes.max_time_minus_border = std::max(extremes.max_time_minus_border, time - border);
    }
    extremes_.push_back(extremes);
  }
}

template <std::size_t W>
std::optional<uint32_t> ReachedSet<W>::BestStart(const StageCosts<W>& costs, const IdealTable<W>& table,
                                                 const StageQuery<W>& query, int64_t max_load) const {
  const uint64_t top_bits = costs.layout().top_bits();
  std::optional<uint32_t> best;
  int64_t best_load = max_load;
  for (const uint32_t ideal : ideals_) {
    if (ideal == query.ideal() || !IsSubset(table.codes[ideal], query.code(), top_bits)) continue;
    const int64_t load = query.base() + Offset(costs.instance(), table, ideal, query.pool()) -
                         query.Correction(table.codes[ideal], top_bits);
    if (load > best_load || (best.has_value() && load == best_load)) continue;
    if (!costs.Fits(table, ideal, query.ideal(), query.pool())) continue;
    best = ideal;
    best_load = load;
  }
  return best;
}

#define PLANWRIGHT_INSTANTIATE(W) \
  template class StageCosts<W>;   \
  template class StageQuery<W>;   \
  template class ReachedSet<W>;
PLANWRIGHT_INSTANTIATE(1)
PLANWRIGHT_INSTANTIATE(2)
PLANWRIGHT_INSTANTIATE(4)
PLANWRIGHT_INSTANTIATE(8)
PLANWRIGHT_INSTANTIATE(16)
#undef PLANWRIGHT_INSTANTIATE

}  // namespace planwright
