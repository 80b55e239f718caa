#include "core/partition/contiguous/ideals/reached_set.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/base/index.h"
#include "core/base/known.h"
#include "core/base/radix_sort.h"

namespace planwright {
namespace {

// Sets up to this size are scanned; a tree does not pay for itself below.
constexpr std::size_t kMaxScanned = 256;
constexpr std::size_t kLeafSize = 16;

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
  for (const DevicePool& pool : instance.pools) {
    times_.emplace_back(layout, pool.time);
    if (instance.rule.has_phases) backward_times_.emplace_back(layout, pool.backward_time);
  }
  if (instance.rule.ring.has_value()) parameters_ = LanePrefixSums(layout, instance.parameter_bytes);
  for (const DevicePool& pool : instance.pools) memory_binds_.push_back(MemoryCanBind(instance, pool));
  for (int32_t block = 0; block < instance.num_blocks(); ++block) {
    if (instance.memory.workspace[Index(block)] > 0) blocks_by_workspace_.push_back(block);
  }
  std::stable_sort(blocks_by_workspace_.begin(), blocks_by_workspace_.end(), [&](int32_t a, int32_t b) {
    return instance.memory.workspace[Index(a)] > instance.memory.workspace[Index(b)];
  });
}

template <std::size_t W>
int64_t StageCosts<W>::Load(const IdealTable<W>& table, std::size_t from, std::size_t to, std::size_t pool,
                            int64_t replicas) const {
  const ChainCode<W>& end = table.codes[to];
  const ChainCode<W>& start = table.codes[from];
  ReplicaWork stage;
  int64_t compute = table.times[pool][to] - table.times[pool][from];
  if (instance_.rule.has_phases) {
    const int64_t backward = backward_times_[pool].Below(layout_, end) - backward_times_[pool].Below(layout_, start);
    stage.work.backward.compute = Picoseconds(backward);
    compute -= backward;
  }
  stage.work.forward.compute = Picoseconds(compute);
  if (instance_.rule.reduces(replicas)) stage.parameter_bytes = ParametersOf(end) - ParametersOf(start);
  if (instance_.pools[pool].pays_transfers) {
    ForEachCutNet(table, from, to, [&](const Net& net) {
      const bool holds_producer = net.producer != Net::kAnyProducer && layout_.Contains(end, net.producer) &&
                                  !layout_.Contains(start, net.producer);
      AddCutNet(instance_, net, holds_producer, stage.work);
    });
  }
  return instance_.rule.Load(stage, replicas);
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
  if (sums.Total(instance_.memory, buffers, workspace) <= Known(instance_.pools[pool].memory_bytes)) return true;
  has_refused_memory_.store(true, std::memory_order_relaxed);
  return false;
}

// A net of either boundary is cut by the stage unless its part below `to` lies below `from` already.
template <std::size_t W>
template <typename Visit>
void StageCosts<W>::ForEachCutNet(const IdealTable<W>& table, std::size_t from, std::size_t to, Visit visit) const {
  const auto in_stage = [&](int32_t net) {
    const auto& blocks = instance_.nets[Index(net)].blocks;
    return std::any_of(blocks.begin(), blocks.end(), [&](int32_t block) {
      return layout_.Contains(table.codes[to], block) && !layout_.Contains(table.codes[from], block);
    });
  };
  const auto upper = table.CutNets(to);
  for (const int32_t net : upper) {
    if (in_stage(net)) visit(instance_.nets[Index(net)]);
  }
  for (const int32_t net : table.CutNets(from)) {
    const bool visited = std::find(upper.begin(), upper.end(), net) != upper.end();
    if (!visited && in_stage(net)) visit(instance_.nets[Index(net)]);
  }
}

template <std::size_t W>
int64_t StageCosts<W>::CutBuffers(const IdealTable<W>& table, std::size_t from, std::size_t to) const {
  int64_t buffers = 0;
  ForEachCutNet(table, from, to, [&](const Net& net) { buffers += net.buffer_bytes; });
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
StageQuery<W>::StageQuery(const StageCosts<W>& costs, const IdealTable<W>& table, std::size_t ideal, std::size_t pool,
                          int64_t replicas)
    : costs_(costs), table_(table), ideal_(ideal), pool_(pool), replicas_(replicas) {
  if (costs.instance().pools[pool].pays_transfers) border_ = table.borders[ideal];
}

template <std::size_t W>
void StageQuery<W>::PrepareNets() {
  const ChainLayout& layout = costs_.layout();
  is_prepared_ = true;
  untouched_ = code();
  if (border_ == 0) return;
  for (const int32_t net : table_.CutNets(ideal_)) {
    const Net& data = costs_.instance().nets[Index(net)];
    if (data.weight == 0) continue;
    CutNet& cut = nets_.emplace_back(CutNet{data.weight, &costs_.FirstPins(net), {}});
    for (const int32_t block : data.blocks) {
      const std::size_t lane = layout.lane_of(block);
      if (!layout.Contains(code(), block)) continue;
      layout.Set(cut.inside, lane, std::max(layout.Get(cut.inside, lane), layout.position_of(block) + 1));
    }
    untouched_ = LaneMin(untouched_, *cut.first_pins, layout.top_bits());
  }
}

template <std::size_t W>
int64_t StageQuery<W>::Correction(const ChainCode<W>& from) {
  if (!is_prepared_) PrepareNets();
  const uint64_t top_bits = costs_.layout().top_bits();
  if (nets_.empty() || IsSubset(from, untouched_, top_bits)) return 0;
  int64_t correction = 0;
  for (const CutNet& net : nets_) {
    const int64_t touched = IsSubset(from, *net.first_pins, top_bits) ? 0 : 1;
    const int64_t complete = IsSubset(net.inside, from, top_bits) ? 1 : 0;
    correction += net.weight * (touched + complete);
  }
  return correction;
}

template <std::size_t W>
ReachedSet<W>::ReachedSet(const StageCosts<W>& costs, const IdealTable<W>& table, std::vector<uint32_t> ideals,
                          Poller& poller)
    : ideals_(std::move(ideals)), entries_(ideals_) {
  const bool has_tree = entries_.size() > kMaxScanned;
  const auto rank_of = [&](uint32_t ideal) { return table.spatial_ranks[ideal]; };
  if (has_tree && !StableRadixSort(entries_, table.size(), poller, rank_of)) return;
  codes_.reserve(entries_.size());
  for (const uint32_t ideal : entries_) codes_.push_back(table.codes[ideal]);
  for (std::size_t pool = 0; pool < costs.instance().pools.size(); ++pool) {
    auto& offsets = offsets_.emplace_back();
    offsets.reserve(entries_.size());
    for (const uint32_t ideal : entries_) offsets.push_back(Offset(costs.instance(), table, ideal, pool));
  }
  if (has_tree) BuildTree(costs, table);
}

template <std::size_t W>
int64_t ReachedSet<W>::Bytes() const {
  const std::size_t pools = offsets_.size();
  const std::size_t per_entry = 2 * sizeof(uint32_t) + sizeof(ChainCode<W>) + pools * sizeof(int64_t);
  const std::size_t per_node = sizeof(Node) + pools * sizeof(Extremes);
  return static_cast<int64_t>(entries_.size() * per_entry + nodes_.size() * per_node);
}

// What stays the same while one query walks the set. The query asks for a *start*: an entry from which a stage up to
// the ideal I of the query fits within the target.
template <std::size_t W>
struct ReachedSet<W>::Probe {
  const StageCosts<W>& costs;
  const IdealTable<W>& table;
  StageQuery<W>& query;
  int64_t max_load;
  uint64_t top_bits;
  // Starts that pass the tests below may still be none: memory, support, or loads that are no sums.
  bool is_constrained;
  bool loads_are_exact;
  bool has_allreduce;
  // What the replicas may compute, and compute and transfer, for every micro-batch.
  int64_t max_time;
  int64_t max_total;
  // max_total - base. An entry below I whose offset less its correction is at most this is a start.
  int64_t slack;

  // Whether entry `from` passes the tests that the others leave open.
  bool Admits(std::size_t from) const {
    const std::size_t to = query.ideal();
    if (!loads_are_exact && costs.Load(table, from, to, query.pool(), query.replicas()) > max_load) return false;
    return costs.Fits(table, from, to, query.pool());
  }
  // `limit` less what stages whose starts are all at most `greatest` reduce, on all replicas together.
  int64_t WithoutAllReduce(int64_t limit, const ChainCode<W>& greatest) const {
    if (!has_allreduce) return limit;
    const LoadRule& rule = costs.instance().rule;
    const int64_t least = costs.ParametersOf(query.code()) - costs.ParametersOf(greatest);
    return limit - rule.UndividedAllReduce(least, query.replicas());
  }
};

template <std::size_t W>
bool ReachedSet<W>::Reaches(const StageCosts<W>& costs, const IdealTable<W>& table, StageQuery<W>& query,
                            int64_t max_load, int64_t min_weight) const {
  const LoadRule& rule = costs.instance().rule;
  const bool loads_are_exact = rule.is_additive() && !rule.reduces(query.replicas());
  const int64_t max_total = SaturatingMultiply(query.replicas(), rule.TotalBudget(max_load));
  Probe probe{costs,
              table,
              query,
              max_load,
              costs.layout().top_bits(),
              costs.IsConstrained(query.pool()) || !loads_are_exact,
              loads_are_exact,
              rule.is_additive() && rule.reduces(query.replicas()),
              SaturatingMultiply(query.replicas(), rule.ComputeBudget(max_load)),
              max_total,
              max_total - query.base()};
  if (!nodes_.empty()) return ReachesFromTree(probe);
  const auto begin = std::partition_point(entries_.begin(), entries_.end(),
                                          [&](uint32_t ideal) { return table.weights[ideal] < min_weight; });
  const auto end = std::partition_point(
      begin, entries_.end(), [&](uint32_t ideal) { return table.weights[ideal] <= table.weights[query.ideal()]; });
  return ReachesFromRange(probe, static_cast<std::size_t>(begin - entries_.begin()),
                          static_cast<std::size_t>(end - entries_.begin()));
}

template <std::size_t W>
bool ReachedSet<W>::ReachesFromRange(Probe& probe, std::size_t begin, std::size_t end) const {
  const std::vector<int64_t>& offsets = offsets_[probe.query.pool()];
  // An entry beyond this is no start whatever its correction, which is at most twice the border.
  const int64_t loosest = probe.slack + 2 * probe.query.border();
  for (std::size_t entry = end; entry-- > begin;) {
    const int64_t offset = offsets[entry];
    if (offset > loosest || !IsSubset(codes_[entry], probe.query.code(), probe.top_bits)) continue;
    if (offset > probe.slack && offset - probe.query.Correction(codes_[entry]) > probe.slack) continue;
    if (!probe.is_constrained || probe.Admits(entries_[entry])) return true;
  }
  return false;
}

// Walks the tree depth first. Each node knows the meet and the join of its entries and the extremes of what they cost,
// so most nodes are decided without a look at their entries: either none of them can be a start, and the node is left
// out, or the best one of them surely is. The tests go from cheap to dear: first numbers alone, then one comparison of
// codes, then the times and the correction of the greatest code that an entry below I can have.
template <std::size_t W>
bool ReachedSet<W>::ReachesFromTree(Probe& probe) const {
  const std::vector<Extremes>& extremes = extremes_[probe.query.pool()];
  const ChainCode<W>& code = probe.query.code();
  const int64_t time = probe.query.time();
  const int64_t border = probe.query.border();
  // `correction` is an upper bound for all entries of the node, since corrections only grow with the start.
  struct Item {
    std::size_t level;
    std::size_t position;
    int64_t correction;
  };
  // Each level leaves at most one node waiting; 2^32 entries have fewer levels.
  std::array<Item, 40> stack;
  std::size_t waiting = 0;
  stack[waiting++] = {level_start_.size() - 1, 0, 2 * border};
  while (waiting > 0) {
    Item item = stack[--waiting];
    const std::size_t index = level_start_[item.level] + item.position;
    const Node& node = nodes_[index];
    const Extremes& extreme = extremes[index];
    // These three refute the node by the time of its latest entry alone, by that time and the nets that only this
    // boundary cuts, and by the least offset under the correction that the parent knew.
    if (time - extreme.max_time > probe.max_time) continue;
    if (time + border - extreme.max_time_plus_border > probe.max_total) continue;
    if (extreme.min_offset - item.correction > probe.slack) continue;
    // No entry is below I unless their meet is. All are if their join is, and then the least offset decides by itself.
    if (!IsSubset(node.meet, code, probe.top_bits)) continue;
    const bool all_below = !probe.is_constrained && IsSubset(node.join, code, probe.top_bits);
    if (all_below && extreme.min_offset <= probe.slack) return true;
    // An entry below I is below the greatest code that is below both the join and I. So a stage from it takes at least
    // the time between that code and I, and pays at least for the nets that the correction for that code leaves.
    const ChainCode<W> greatest = LaneMin(node.join, code, probe.top_bits);
    const int64_t least_time = time - probe.costs.TimeOf(greatest, probe.query.pool());
    if (least_time > probe.max_time) continue;
    const int64_t max_total = probe.WithoutAllReduce(probe.max_total, greatest);
    if (least_time + std::max<int64_t>(0, border + extreme.min_border - item.correction) > max_total) continue;
    // Both tests are made once more with the correction for that code, which is tighter than what the parent knew but
    // takes a walk over the nets of the border.
    if (border > 0) {
      item.correction = std::min(item.correction, probe.query.Correction(greatest));
      if (least_time + std::max<int64_t>(0, border + extreme.min_border - item.correction) > max_total) continue;
      if (extreme.min_offset - item.correction > probe.slack) continue;
      // Where the meet has the same correction, all entries have it, and the one with the least offset is a start.
      if (all_below && probe.query.Correction(node.meet) == item.correction) return true;
    }
    if (item.level == 0) {
      const std::size_t begin = item.position * kLeafSize;
      if (ReachesFromRange(probe, begin, std::min(begin + kLeafSize, entries_.size()))) return true;
      continue;
    }
    // The child with the smaller offset is looked at first, since a start is more likely there.
    const std::size_t first = level_start_[item.level - 1] + 2 * item.position;
    const bool has_second = first + 1 < level_start_[item.level];
    const bool second_first = has_second && extremes[first + 1].min_offset < extremes[first].min_offset;
    const Item second{item.level - 1, 2 * item.position + 1, item.correction};
    if (has_second && !second_first) stack[waiting++] = second;
    stack[waiting++] = {item.level - 1, 2 * item.position, item.correction};
    if (second_first) stack[waiting++] = second;
  }
  return false;
}

template <std::size_t W>
void ReachedSet<W>::Extremes::Include(const Extremes& other) {
  min_offset = std::min(min_offset, other.min_offset);
  max_time = std::max(max_time, other.max_time);
  max_time_plus_border = std::max(max_time_plus_border, other.max_time_plus_border);
  min_border = std::min(min_border, other.min_border);
}

// Leaves of kLeafSize neighbours in order, then level by level pairs of nodes, up to the root.
template <std::size_t W>
void ReachedSet<W>::BuildTree(const StageCosts<W>& costs, const IdealTable<W>& table) {
  const BlockInstance& instance = costs.instance();
  const uint64_t top_bits = costs.layout().top_bits();
  extremes_.resize(instance.pools.size());
  level_start_.push_back(0);
  for (std::size_t begin = 0; begin < entries_.size(); begin += kLeafSize) {
    const std::size_t end = std::min(begin + kLeafSize, entries_.size());
    Node node{codes_[begin], codes_[begin]};
    for (std::size_t entry = begin + 1; entry < end; ++entry) {
      node.meet = LaneMin(node.meet, codes_[entry], top_bits);
      node.join = LaneMax(node.join, codes_[entry], top_bits);
    }
    nodes_.push_back(node);
    for (std::size_t pool = 0; pool < instance.pools.size(); ++pool) {
      constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
      constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();
      Extremes extremes{kGreatest, kLeast, kLeast, kGreatest};
      for (std::size_t entry = begin; entry < end; ++entry) {
        const int64_t time = table.times[pool][entries_[entry]];
        const int64_t offset = offsets_[pool][entry];
        // offset = border - time, so time + border = offset + 2 time.
        extremes.Include({offset, time, offset + 2 * time, offset + time});
      }
      extremes_[pool].push_back(extremes);
    }
  }
  while (nodes_.size() - level_start_.back() > 1) {
    const std::size_t begin = level_start_.back();
    const std::size_t end = nodes_.size();
    level_start_.push_back(end);
    AddLevel(begin, end, top_bits);
  }
}

template <std::size_t W>
void ReachedSet<W>::AddLevel(std::size_t begin, std::size_t end, uint64_t top_bits) {
  for (std::size_t child = begin; child < end; child += 2) {
    Node node = nodes_[child];
    if (child + 1 < end) {
      node.meet = LaneMin(node.meet, nodes_[child + 1].meet, top_bits);
      node.join = LaneMax(node.join, nodes_[child + 1].join, top_bits);
    }
    nodes_.push_back(node);
    for (std::vector<Extremes>& pool_extremes : extremes_) {
      Extremes extremes = pool_extremes[child];
      if (child + 1 < end) extremes.Include(pool_extremes[child + 1]);
      pool_extremes.push_back(extremes);
    }
  }
}

template <std::size_t W>
std::optional<uint32_t> ReachedSet<W>::BestStart(const StageCosts<W>& costs, const IdealTable<W>& table,
                                                 StageQuery<W>& query, int64_t max_load) const {
  const uint64_t top_bits = costs.layout().top_bits();
  std::optional<uint32_t> best;
  int64_t best_load = max_load;
  for (const uint32_t ideal : ideals_) {
    if (!IsSubset(table.codes[ideal], query.code(), top_bits)) continue;
    const int64_t load = costs.Load(table, ideal, query.ideal(), query.pool(), query.replicas());
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
