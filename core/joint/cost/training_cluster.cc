#include "core/joint/cost/training_cluster.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/units.h"

namespace planwright {
namespace {

struct Networks {
  int64_t devices_per_node = 0;
  TrainingLink inside;
  TrainingLink between;
  std::vector<TrainingGroup> groups;
};

TrainingLink LinkOf(double bytes_per_second, Picoseconds latency) { return {bytes_per_second, latency.count()}; }

// What a device has of a level while all `devices` below one child of it send to the other children.
double ShareOf(const HierarchyInterconnect::Level& level, int64_t devices) {
  if (!level.port_bandwidth_bytes_per_second.has_value()) return level.bandwidth_bytes_per_second;
  return std::min(level.bandwidth_bytes_per_second,
                  *level.port_bandwidth_bytes_per_second / static_cast<double>(devices));
}

// Nodes of so many devices under the levels from `from` on: what passes a level passes those below it.
Networks NetworksUnder(const std::vector<HierarchyInterconnect::Level>& levels, std::size_t from,
                       int64_t devices_per_node, TrainingLink inside) {
  Networks networks{devices_per_node, inside, inside, {}};
  int64_t nodes = 1;
  TrainingLink& slowest = networks.between;
  for (std::size_t level = from; level < levels.size(); ++level) {
    if (levels[level].fan_out == 1) continue;
    const TrainingLink before = slowest;
    slowest.bytes_per_second = std::min(slowest.bytes_per_second, ShareOf(levels[level], devices_per_node * nodes));
    slowest.latency_ps = std::max(slowest.latency_ps, levels[level].latency.count());
    if (nodes > 1 && before != slowest) networks.groups.push_back({nodes, before});
    nodes *= levels[level].fan_out;
  }
  return networks;
}

absl::StatusOr<Networks> NetworksOf(const Cluster& cluster) {
  const auto num_devices = static_cast<int64_t>(cluster.devices.size());
  if (const auto* nodes = std::get_if<NodesInterconnect>(&cluster.interconnect)) {
    TrainingLink inside = LinkOf(nodes->bandwidth_bytes_per_second, nodes->latency);
    for (const NodesInterconnect::Link& link : nodes->links) {
      if (inside.bytes_per_second > 0) break;
      inside = LinkOf(link.bandwidth_bytes_per_second, link.latency);
    }
    return NetworksUnder(nodes->levels, 0, nodes->devices_per_node, inside);
  }
  if (const auto* tree = std::get_if<HierarchyInterconnect>(&cluster.interconnect)) {
    const HierarchyInterconnect::Level& node = tree->levels.front();
    const TrainingLink inside = LinkOf(ShareOf(node, 1), node.latency);
    return NetworksUnder(tree->levels, 1, node.fan_out, inside);
  }
  if (const auto* uniform = std::get_if<UniformInterconnect>(&cluster.interconnect)) {
    if (uniform->bandwidth_bytes_per_second.has_value()) {
      const TrainingLink inside = LinkOf(*uniform->bandwidth_bytes_per_second, uniform->latency);
      return Networks{num_devices, inside, inside, {}};
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the joint search knows `nodes`, `hierarchy` and `uniform` with a bandwidth, not `",
                   InterconnectName(cluster.interconnect), "`"));
}

// Nodes of one class and size that differ in memory.
constexpr std::size_t kMostMemoryLevels = 4;

// Usable accelerators of one class in one node.
using Node = std::vector<DeviceId>;

// Nodes by class and size, the largest first: of a node with several classes, each class has a node of its own.
std::map<std::pair<DeviceClassId, int64_t>, std::vector<Node>> NodesOf(const Cluster& cluster,
                                                                       const std::vector<DeviceId>& usable,
                                                                       int64_t devices_per_node) {
  std::map<std::pair<int64_t, DeviceClassId>, Node> nodes;
  for (const DeviceId device : usable) {
    if (cluster.class_of(device).kind != DeviceKind::kAccelerator) continue;
    const int64_t number = static_cast<int64_t>(device.index()) / devices_per_node;
    nodes[{number, cluster.devices[device.index()].device_class}].push_back(device);
  }
  std::map<std::pair<DeviceClassId, int64_t>, std::vector<Node>> alike;
  for (auto& [key, node] : nodes) alike[{key.second, -static_cast<int64_t>(node.size())}].push_back(std::move(node));
  return alike;
}

// Of all devices of a node, or of several.
struct MemoryRange {
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = std::numeric_limits<int64_t>::min();

  void Add(const MemoryRange& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }
};

MemoryRange MemoryOf(const Cluster& cluster, const Node& node, int64_t reserved_bytes) {
  constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4;
  MemoryRange range;
  for (const DeviceId device : node) {
    const int64_t bytes = UsableMemoryBytes(cluster, device).value_or(kUnlimited) - reserved_bytes;
    range.Add({bytes, bytes});
  }
  return range;
}

struct MemoryLevel {
  std::vector<Node> nodes;
  MemoryRange memory;
};

// Nodes by what each of their devices has at least, the most first: one level for each number of bytes, or as many as
// are told apart, divided where these are furthest apart.
std::map<int64_t, MemoryLevel, std::greater<>> ByMemory(const Cluster& cluster, const std::vector<Node>& nodes,
                                                        int64_t reserved_bytes) {
  std::vector<MemoryRange> ranges;
  std::set<int64_t> sizes;
  for (const Node& node : nodes) {
    ranges.push_back(MemoryOf(cluster, node, reserved_bytes));
    sizes.insert(ranges.back().least);
  }
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (auto size = std::next(sizes.begin()); size != sizes.end(); ++size) {
    steps.emplace_back(*std::prev(size) - *size, -*size);
  }
  // The widest first, of these the largest sizes.
  std::sort(steps.begin(), steps.end());
  steps.resize(std::min(steps.size(), kMostMemoryLevels - 1));
  std::set<int64_t> least{*sizes.begin()};
  for (const auto& [width, size] : steps) least.insert(-size);
  std::map<int64_t, MemoryLevel, std::greater<>> levels;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    MemoryLevel& level = levels[*std::prev(least.upper_bound(ranges[i].least))];
    level.nodes.push_back(nodes[i]);
    level.memory.Add(ranges[i]);
  }
  return levels;
}

// So many nodes of a class, whose devices begin at `from`: those of the fullest pods first, and in these of the fullest
// racks.
std::vector<int32_t> FullestFirst(const TrainingCluster& cluster, std::vector<DeviceId>::const_iterator from,
                                  const TrainingClass& part, int32_t count) {
  const auto group_of = [&](int32_t node, const TrainingGroup& group) {
    const auto device = static_cast<int64_t>((from + int64_t{node} * part.devices_per_node)->index());
    return device / cluster.node_span / group.nodes;
  };
  // By group, of each node: how many nodes its group has here, negative so that more come first, and which it is.
  std::vector<std::vector<int64_t>> keys(static_cast<std::size_t>(part.nodes));
  for (auto group = cluster.groups.rbegin(); group != cluster.groups.rend(); ++group) {
    std::map<int64_t, int64_t> sizes;
    for (int32_t node = 0; node < part.nodes; ++node) ++sizes[group_of(node, *group)];
    for (int32_t node = 0; node < part.nodes; ++node) {
      const int64_t number = group_of(node, *group);
      keys[static_cast<std::size_t>(node)].insert(keys[static_cast<std::size_t>(node)].end(), {-sizes[number], number});
    }
  }
  std::vector<int32_t> nodes(static_cast<std::size_t>(part.nodes));
  std::iota(nodes.begin(), nodes.end(), 0);
  std::stable_sort(nodes.begin(), nodes.end(), [&](int32_t a, int32_t b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  nodes.resize(static_cast<std::size_t>(count));
  return nodes;
}

bool IsSameButForMemory(const TrainingClass& a, const TrainingClass& b) {
  return a.device_class == b.device_class && a.devices_per_node == b.devices_per_node;
}

// Nodes that have as many devices of one class differ in their memory.
bool HasLevels(const TrainingCluster& cluster) {
  const std::vector<TrainingClass>& classes = cluster.classes;
  return std::any_of(classes.begin(), classes.end(), [&](const TrainingClass& a) {
    return std::any_of(classes.begin(), classes.end(), [&](const TrainingClass& b) {
      return IsSameButForMemory(a, b) && a.memory_bytes != b.memory_bytes;
    });
  });
}

// The most that a device of the class has anywhere.
TrainingCluster WithMostMemory(TrainingCluster cluster) {
  std::map<DeviceClassId, int64_t> most;
  for (const TrainingClass& part : cluster.classes) {
    int64_t& of_class = most.try_emplace(part.device_class, part.memory_bytes).first->second;
    of_class = std::max({of_class, part.memory_bytes, part.most_memory_bytes});
  }
  for (TrainingClass& part : cluster.classes) part.memory_bytes = most.at(part.device_class);
  return cluster;
}

// Of more, all orders are too many to search.
constexpr std::size_t kMostOrderedRuns = 3;

// By class of devices, the numbers of the neighbouring classes of the row that are of it.
std::vector<std::vector<std::size_t>> RunsOfClass(const TrainingCluster& cluster) {
  std::vector<std::vector<std::size_t>> runs;
  for (std::size_t number = 0; number < cluster.classes.size(); ++number) {
    const bool is_new = number == 0 || cluster.classes[number].device_class != cluster.classes[number - 1].device_class;
    if (is_new) runs.emplace_back();
    runs.back().push_back(number);
  }
  return runs;
}

// The classes of these numbers, one behind the other; the devices with them.
TrainingCluster InOrder(const TrainingCluster& cluster, const std::vector<std::size_t>& order) {
  std::vector<std::vector<DeviceId>::const_iterator> firsts = {cluster.devices.begin()};
  for (const TrainingClass& part : cluster.classes) firsts.push_back(firsts.back() + part.devices());
  TrainingCluster ordered = cluster;
  ordered.classes.clear();
  ordered.devices.clear();
  for (const std::size_t number : order) {
    ordered.classes.push_back(cluster.classes[number]);
    ordered.devices.insert(ordered.devices.end(), firsts[number], firsts[number + 1]);
  }
  return ordered;
}

void Append(std::vector<TrainingCluster> more, std::vector<TrainingCluster>& rows) {
  for (TrainingCluster& row : more) rows.push_back(std::move(row));
}

}  // namespace

int64_t TrainingClass::TakenBy(int64_t block) const {
  return block <= devices_per_node ? block : CeilDivide(block, devices_per_node) * devices_per_node;
}

int64_t TrainingClass::BlocksOf(int64_t block) const {
  return block <= devices_per_node ? nodes * (devices_per_node / block) : nodes / CeilDivide(block, devices_per_node);
}

int64_t TrainingClass::PerNodeOf(const Degrees& block) const {
  const int64_t devices = block.devices();
  if (devices <= devices_per_node) return devices_per_node;
  const int64_t share = CeilDivide(devices, CeilDivide(devices, devices_per_node));
  for (const int64_t group : {int64_t{block.tensor} * block.context, int64_t{block.tensor}}) {
    const int64_t whole = CeilDivide(share, group) * group;
    if (whole <= devices_per_node) return whole;
  }
  return share;
}

int64_t TrainingCluster::num_devices() const {
  int64_t count = 0;
  for (const TrainingClass& part : classes) count += part.devices();
  return count;
}

int64_t TrainingCluster::BlocksOf(int64_t block) const {
  int64_t blocks = 0;
  for (const TrainingClass& part : classes) blocks += part.BlocksOf(block);
  return blocks;
}

int32_t TrainingCluster::LeastTierOf(const TrainingClass& part, int64_t block) const {
  return LeastTier(CeilDivide(block, part.devices_per_node));
}

int32_t TrainingCluster::LeastTier(int64_t nodes) const {
  if (nodes <= 1) return 0;
  int32_t tier = 1;
  while (tier + 1 < num_tiers() && groups[static_cast<std::size_t>(tier - 1)].nodes < nodes) ++tier;
  return tier;
}

absl::StatusOr<TrainingCluster> MakeTrainingCluster(const Cluster& cluster, const std::vector<DeviceId>& usable,
                                                    int64_t reserved_bytes) {
  const absl::StatusOr<Networks> networks = NetworksOf(cluster);
  if (!networks.ok()) return networks.status();
  TrainingCluster training{.classes = {},
                           .devices = {},
                           .inside = networks->inside,
                           .between = networks->between,
                           .groups = networks->groups,
                           .node_span = networks->devices_per_node};
  for (const auto& [key, nodes] : NodesOf(cluster, usable, networks->devices_per_node)) {
    for (const auto& [least, level] : ByMemory(cluster, nodes, reserved_bytes)) {
      training.classes.push_back({.device_class = key.first,
                                  .nodes = static_cast<int32_t>(level.nodes.size()),
                                  .devices_per_node = static_cast<int32_t>(level.nodes.front().size()),
                                  .memory_bytes = least,
                                  .most_memory_bytes = level.memory.most});
      for (const Node& node : level.nodes) training.devices.insert(training.devices.end(), node.begin(), node.end());
    }
  }
  if (training.devices.empty()) return absl::FailedPreconditionError("must leave an accelerator");
  return training;
}

std::vector<int64_t> CountsByClass(const TrainingCluster& cluster, int64_t count) {
  std::vector<int64_t> counts;
  int64_t left = count;
  for (const TrainingClass& part : cluster.classes) {
    counts.push_back(std::min(part.devices(), left));
    left -= counts.back();
  }
  return counts;
}

TrainingCluster FirstDevices(const TrainingCluster& cluster, int64_t count) {
  return FirstDevicesByClass(cluster, CountsByClass(cluster, count));
}

TrainingCluster AsCloseAsCanBe(const TrainingCluster& cluster) {
  TrainingCluster closest = cluster;
  if (!cluster.groups.empty()) closest.between = cluster.groups.front().link;
  closest.groups.clear();
  return closest;
}

std::vector<TrainingCluster> OrdersOf(const TrainingCluster& cluster) {
  if (cluster.classes.size() == 1) return {cluster};
  const std::vector<std::vector<std::size_t>> runs = RunsOfClass(cluster);
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<TrainingCluster> orders;
  do {
    if (order.front() > order.back()) continue;  // The reverse of another one.
    std::vector<std::size_t> classes;
    for (const std::size_t run : order) classes.insert(classes.end(), runs[run].begin(), runs[run].end());
    orders.push_back(InOrder(cluster, classes));
    orders.push_back(InReverse(orders.back()));
  } while (runs.size() <= kMostOrderedRuns && std::next_permutation(order.begin(), order.end()));
  return orders;
}

bool HasUnlikeMemory(const TrainingCluster& cluster) {
  return HasLevels(cluster) ||
         std::any_of(cluster.classes.begin(), cluster.classes.end(),
                     [](const TrainingClass& part) { return part.most_memory_bytes > part.memory_bytes; });
}

bool HasUnlikeDevices(const TrainingCluster& cluster) {
  const TrainingClass& first = cluster.classes.front();
  return std::any_of(cluster.classes.begin(), cluster.classes.end(), [&](const TrainingClass& part) {
    return part.device_class != first.device_class || part.memory_bytes != first.memory_bytes;
  });
}

TrainingCluster WithLikeMemory(const TrainingCluster& cluster, AssumedMemory memory) {
  TrainingCluster alike = cluster;
  alike.classes.clear();
  alike.devices.clear();
  std::vector<std::vector<DeviceId>> devices;
  auto next = cluster.devices.begin();
  for (const TrainingClass& part : cluster.classes) {
    const auto same = std::find_if(alike.classes.begin(), alike.classes.end(),
                                   [&](const TrainingClass& other) { return IsSameButForMemory(part, other); });
    const auto number = static_cast<std::size_t>(same - alike.classes.begin());
    if (same == alike.classes.end()) {
      alike.classes.push_back(part);
      devices.emplace_back();
    } else {
      same->nodes += part.nodes;
      same->memory_bytes = std::min(same->memory_bytes, part.memory_bytes);
      same->most_memory_bytes = std::max(same->most_memory_bytes, part.most_memory_bytes);
    }
    std::vector<DeviceId>& own = devices[number];
    const auto middle = static_cast<std::ptrdiff_t>(own.size());
    own.insert(own.end(), next, next + part.devices());
    // Neighbours stay neighbours.
    std::inplace_merge(own.begin(), own.begin() + middle, own.end());
    next += part.devices();
  }
  for (const std::vector<DeviceId>& own : devices) {
    alike.devices.insert(alike.devices.end(), own.begin(), own.end());
  }
  return memory == AssumedMemory::kLeast ? alike : WithMostMemory(std::move(alike));
}

std::vector<TrainingCluster> RowsOf(const TrainingCluster& cluster) {
  std::vector<TrainingCluster> rows = OrdersOf(cluster);
  if (HasLevels(cluster)) Append(OrdersOf(WithLikeMemory(cluster, AssumedMemory::kLeast)), rows);
  return rows;
}

std::vector<TrainingCluster> BestRowsOf(const TrainingCluster& cluster) {
  if (!HasUnlikeMemory(cluster)) return OrdersOf(cluster);
  std::vector<TrainingCluster> rows = OrdersOf(WithMostMemory(cluster));
  if (HasLevels(cluster)) Append(OrdersOf(WithLikeMemory(cluster, AssumedMemory::kMost)), rows);
  return rows;
}

TrainingCluster FirstDevicesByClass(const TrainingCluster& cluster, const std::vector<int64_t>& counts) {
  TrainingCluster part{.classes = {},
                       .devices = {},
                       .inside = cluster.inside,
                       .between = cluster.between,
                       .groups = cluster.groups,
                       .node_span = cluster.node_span,
                       .pairs = cluster.pairs};
  auto from = cluster.devices.begin();
  for (std::size_t number = 0; number < counts.size(); ++number) {
    const TrainingClass& all = cluster.classes[number];
    const int64_t per_node = all.devices_per_node;
    const auto whole = static_cast<int32_t>(counts[number] / per_node);
    const auto rest = static_cast<int32_t>(counts[number] % per_node);
    // Part of a node is of the one behind the whole ones, so that more devices are never worse.
    std::vector<int32_t> nodes = FullestFirst(cluster, from, all, whole + (rest > 0 ? 1 : 0));
    std::sort(nodes.begin(), nodes.begin() + whole);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto first = from + nodes[i] * per_node;
      part.devices.insert(part.devices.end(), first, first + (std::cmp_less(i, whole) ? per_node : rest));
    }
    if (whole > 0) {
      part.classes.push_back(all);
      part.classes.back().nodes = whole;
    }
    if (rest > 0) {
      part.classes.push_back(all);
      part.classes.back().nodes = 1;
      part.classes.back().devices_per_node = rest;
    }
    from += all.devices();
  }
  return part;
}

TrainingCluster InReverse(const TrainingCluster& cluster) {
  std::vector<std::size_t> order(cluster.classes.size());
  std::iota(order.rbegin(), order.rend(), 0);
  return InOrder(cluster, order);
}

}  // namespace planwright
