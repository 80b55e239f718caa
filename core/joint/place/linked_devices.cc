#include "core/joint/place/linked_devices.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>

#include "core/joint/cost/pair_links.h"

namespace planwright {
namespace {

bool IsFaster(const TrainingLink& a, const TrainingLink& b) {
  return std::tuple(-a.bytes_per_second, a.latency_ps) < std::tuple(-b.bytes_per_second, b.latency_ps);
}

// A link between two devices, by their numbers in the row.
struct Junction {
  std::size_t a = 0;
  std::size_t b = 0;
  TrainingLink link;
};

// Returns the tree over all devices with the fastest links, in descending order; empty where it is interrupted.
std::vector<Junction> FastestTree(const TrainingCluster& cluster, Poller& poller) {
  const std::size_t count = cluster.devices.size();
  std::vector<Junction> tree;
  // How each device that is not in the tree yet would be joined.
  std::vector<Junction> open;
  for (std::size_t device = 1; device < count; ++device) {
    open.push_back({0, device, cluster.pairs->Between(cluster.devices[0], cluster.devices[device])});
  }
  while (!open.empty()) {
    if (poller.ShouldStop(static_cast<int64_t>(count) * 16)) return {};
    const auto next = std::min_element(open.begin(), open.end(),
                                       [](const Junction& a, const Junction& b) { return IsFaster(a.link, b.link); });
    const std::size_t joined = next->b;
    tree.push_back(*next);
    open.erase(next);
    for (Junction& each : open) {
      const TrainingLink link = cluster.pairs->Between(cluster.devices[joined], cluster.devices[each.b]);
      if (IsFaster(link, each.link)) each = {joined, each.b, link};
    }
  }
  std::stable_sort(tree.begin(), tree.end(),
                   [](const Junction& a, const Junction& b) { return IsFaster(a.link, b.link); });
  return tree;
}

// Devices that are joined, by one of them.
class Groups {
 public:
  explicit Groups(std::size_t devices) : parents_(devices), sizes_(devices, 1), latencies_(devices, 0) {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  }

  // Joins the groups of both ends; what it returns stands for the group.
  std::size_t Join(const Junction& junction) {
    const std::size_t a = RootOf(junction.a);
    const std::size_t b = RootOf(junction.b);
    parents_[b] = a;
    sizes_[a] += sizes_[b];
    latencies_[a] = std::max({latencies_[a], latencies_[b], junction.link.latency_ps});
    return a;
  }
  std::size_t SizeOf(std::size_t root) const { return sizes_[root]; }
  int64_t LatencyOf(std::size_t root) const { return latencies_[root]; }

 private:
  std::size_t RootOf(std::size_t device) const {
    while (parents_[device] != device) device = parents_[device];
    return device;
  }

  std::vector<std::size_t> parents_;
  std::vector<std::size_t> sizes_;
  std::vector<int64_t> latencies_;
};

}  // namespace

LinkedDevices::LinkedDevices(const TrainingCluster& cluster, Poller& poller) {
  Groups groups(cluster.devices.size());
  for (const Junction& junction : FastestTree(cluster, poller)) {
    const std::size_t group = groups.Join(junction);
    const TrainingLink link{junction.link.bytes_per_second, groups.LatencyOf(group)};
    while (links_.size() + 1 < groups.SizeOf(group)) links_.push_back(link);
  }
}

TrainingLink LinkedDevices::LinkOf(int64_t count, const TrainingLink& fastest) const {
  const auto number = static_cast<std::size_t>(count) - 2;
  return count < 2 || number >= links_.size() ? fastest : links_[number];
}

}  // namespace planwright
