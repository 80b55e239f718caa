#include "core/joint/place/network_cluster.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "core/base/known.h"
#include "core/cost/terms/transfer.h"
#include "core/joint/cost/pair_links.h"

namespace planwright {
namespace {

TrainingLink LinkOf(const LinkSpeed& speed) { return {Known(speed.bandwidth_bytes_per_second), speed.latency.count()}; }

// Of devices of one class that differ in memory.
constexpr std::size_t kMostLevels = 4;

int64_t MemoryBytesOf(const Cluster& cluster, DeviceId device) {
  constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4;
  return UsableMemoryBytes(cluster, device).value_or(kUnlimited);
}

// What devices have at least, the least first; of many unlike ones some, evenly spread, with the least and the most.
std::vector<int64_t> LevelsOf(const Cluster& cluster, const std::vector<DeviceId>& devices) {
  std::set<int64_t> all;
  for (const DeviceId device : devices) all.insert(MemoryBytesOf(cluster, device));
  const std::vector<int64_t> sizes(all.begin(), all.end());
  if (sizes.size() <= kMostLevels) return sizes;
  std::vector<int64_t> levels;
  for (std::size_t i = 0; i < kMostLevels; ++i) levels.push_back(sizes[i * (sizes.size() - 1) / (kMostLevels - 1)]);
  return levels;
}

// Above it pairs are looked up in the network.
constexpr std::size_t kMostTabledDevices = 512;

class NetworkLinks : public PairLinks {
 public:
  explicit NetworkLinks(const Cluster& cluster) : network_(cluster.interconnect), devices_(cluster.devices.size()) {
    for (std::size_t number = 0; number < network_.num_link_classes(); ++number) {
      links_.push_back(LinkOf(network_.speed(number)));
    }
    if (const auto* grid = std::get_if<GridInterconnect>(&cluster.interconnect)) grid_ = *grid;
    if (devices_ > kMostTabledDevices) return;
    table_.reserve(devices_ * devices_);
    for (std::size_t a = 0; a < devices_; ++a) {
      // A device has no link to itself.
      for (std::size_t b = 0; b < devices_; ++b) table_.push_back(a == b ? kNoLink : Looked(DeviceId(a), DeviceId(b)));
    }
  }

  TrainingLink Between(DeviceId a, DeviceId b) const override {
    return table_.empty() ? Looked(a, b) : table_[a.index() * devices_ + b.index()];
  }

  const GridInterconnect* Grid() const override { return grid_.has_value() ? &*grid_ : nullptr; }

  TrainingLink Fastest() const { return links_.empty() ? kNoLink : LinkOf(network_.FastestLink()); }

 private:
  TrainingLink Looked(DeviceId a, DeviceId b) const {
    return Slower(links_[network_.LinkClassOf(a, b)], links_[network_.LinkClassOf(b, a)]);
  }

  const Network network_;
  const std::size_t devices_;
  std::vector<TrainingLink> links_;
  // By pair; empty where there are too many.
  std::vector<TrainingLink> table_;
  std::optional<GridInterconnect> grid_;
};

}  // namespace

bool IsNetwork(const Cluster& cluster) {
  return std::holds_alternative<GridInterconnect>(cluster.interconnect) ||
         std::holds_alternative<LinksInterconnect>(cluster.interconnect) ||
         std::holds_alternative<MatrixInterconnect>(cluster.interconnect);
}

absl::StatusOr<TrainingCluster> MakeNetworkCluster(const Cluster& cluster, const std::vector<DeviceId>& usable,
                                                   int64_t reserved_bytes) {
  std::map<DeviceClassId, std::vector<DeviceId>> by_class;
  for (const DeviceId device : usable) {
    if (cluster.class_of(device).kind != DeviceKind::kAccelerator) continue;
    by_class[cluster.devices[device.index()].device_class].push_back(device);
  }
  if (by_class.empty()) return absl::FailedPreconditionError("must leave an accelerator");
  auto links = std::make_shared<const NetworkLinks>(cluster);
  TrainingCluster training{.classes = {},
                           .devices = {},
                           .inside = links->Fastest(),
                           .between = links->Fastest(),
                           .groups = {},
                           .node_span = static_cast<int64_t>(cluster.devices.size()),
                           .pairs = links};
  for (const auto& [device_class, devices] : by_class) {
    std::set<int64_t> memory;
    for (const DeviceId device : devices) memory.insert(MemoryBytesOf(cluster, device));
    training.classes.push_back({.device_class = device_class,
                                .nodes = 1,
                                .devices_per_node = static_cast<int32_t>(devices.size()),
                                .memory_bytes = *memory.begin() - reserved_bytes,
                                .most_memory_bytes = *memory.rbegin() - reserved_bytes});
    training.devices.insert(training.devices.end(), devices.begin(), devices.end());
  }
  return training;
}

std::vector<TrainingCluster> PartsOfMoreMemory(const Cluster& cluster, const TrainingCluster& network,
                                               int64_t reserved_bytes) {
  std::vector<std::vector<DeviceId>> by_class;
  std::size_t most_levels = 0;
  auto next = network.devices.begin();
  for (const TrainingClass& part : network.classes) {
    by_class.emplace_back(next, next + part.devices());
    next += part.devices();
    most_levels = std::max(most_levels, LevelsOf(cluster, by_class.back()).size());
  }
  std::vector<TrainingCluster> parts;
  for (std::size_t level = 1; level < most_levels; ++level) {
    TrainingCluster part = network;
    part.devices.clear();
    for (std::size_t number = 0; number < by_class.size(); ++number) {
      const std::vector<int64_t> levels = LevelsOf(cluster, by_class[number]);
      const int64_t least = levels[std::min(level, levels.size() - 1)];
      const std::size_t before = part.devices.size();
      std::ranges::copy_if(by_class[number], std::back_inserter(part.devices),
                           [&](DeviceId device) { return MemoryBytesOf(cluster, device) >= least; });
      part.classes[number].devices_per_node = static_cast<int32_t>(part.devices.size() - before);
      part.classes[number].memory_bytes = least - reserved_bytes;
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace planwright
