#include "core/planner/devices/device_choices.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

#include "core/base/status_macros.h"
#include "core/planner/algorithms/algorithms.h"

namespace planwright {
namespace {

// More divisions than anybody waits for to be searched.
constexpr int kMaxDivisions = 10'000;

// Devices of each class, those worth using first in front.
std::vector<std::vector<DeviceId>> ByClass(const Cluster& cluster, std::span<const DeviceId> selected) {
  std::vector<std::vector<DeviceId>> classes(cluster.device_classes.size());
  for (const DeviceId device : selected) {
    classes[cluster.devices[device.index()].device_class.index()].push_back(device);
  }
  const auto memory = [&](DeviceId device) {
    return UsableMemoryBytes(cluster, device).value_or(std::numeric_limits<int64_t>::max());
  };
  for (std::vector<DeviceId>& devices : classes) {
    std::stable_sort(devices.begin(), devices.end(), [&](DeviceId a, DeviceId b) { return memory(a) > memory(b); });
  }
  std::erase_if(classes, [](const auto& devices) { return devices.empty(); });
  return classes;
}

using Devices = std::vector<DeviceId>;
using Choices = std::vector<Devices>;

// `devices` (ascending) by groups of `size` consecutive ids.
std::vector<Devices> Grouped(const Devices& devices, std::size_t size) {
  std::vector<Devices> groups;
  for (const DeviceId device : devices) {
    if (groups.empty() || groups.back().front().index() / size != device.index() / size) groups.emplace_back();
    groups.back().push_back(device);
  }
  return groups;
}

// `count` of `devices` (ascending), close together in the tree whose groups have `sizes`, innermost first.
Devices Packed(const Devices& devices, std::size_t count, std::span<const std::size_t> sizes) {
  if (sizes.empty()) return {devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(count)};
  std::vector<Devices> groups = Grouped(devices, sizes.back());
  // The smaller groups first.
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  Devices taken;
  while (taken.size() < count) {
    const std::size_t missing = count - taken.size();
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.size() >= missing; });
    if (group == groups.end()) group = std::prev(groups.end());
    const Devices packed = Packed(*group, std::min(missing, group->size()), sizes.first(sizes.size() - 1));
    taken.insert(taken.end(), packed.begin(), packed.end());
    groups.erase(group);
  }
  return taken;
}

// How many devices the groups of each level hold, innermost first; empty: no device is closer to one than to another.
std::vector<std::size_t> GroupSizes(const Interconnect& interconnect) {
  std::vector<std::size_t> sizes;
  const auto* hierarchy = std::get_if<HierarchyInterconnect>(&interconnect);
  if (hierarchy == nullptr) return sizes;
  std::size_t size = 1;
  for (const HierarchyInterconnect::Level& level : hierarchy->levels) {
    size *= static_cast<std::size_t>(level.fan_out);
    sizes.push_back(size);
  }
  return sizes;
}

// Chooses how many devices of each class to take, one class after the other.
class Enumeration {
 public:
  Enumeration(const Cluster& cluster, std::vector<Devices> classes, std::span<const DeviceLimit> limits)
      : cluster_(cluster),
        group_sizes_(GroupSizes(cluster.interconnect)),
        classes_(std::move(classes)),
        taken_(classes_.size(), 0),
        limited_by_(classes_.size()) {
    for (const DeviceLimit& limit : limits) room_.push_back(limit.most);
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      for (std::size_t i = 0; i < limits.size(); ++i) {
        const std::vector<DeviceId>& devices = limits[i].devices;
        if (std::binary_search(devices.begin(), devices.end(), classes_[c].front())) limited_by_[c].push_back(i);
      }
    }
  }

  // False: there are too many.
  bool Run() {
    Extend(0);
    return divisions_ <= kMaxDivisions;
  }

  std::vector<std::vector<DeviceId>> TakeChoices() { return std::move(choices_); }

 private:
  int64_t RoomFor(std::size_t device_class) const {
    auto room = static_cast<int64_t>(classes_[device_class].size());
    for (const std::size_t limit : limited_by_[device_class]) room = std::min(room, room_[limit]);
    return room;
  }

  void Take(std::size_t device_class, int64_t count) {
    taken_[device_class] += count;
    for (const std::size_t limit : limited_by_[device_class]) room_[limit] -= count;
  }

  // Most devices of the first classes first.
  void Extend(std::size_t device_class) {
    if (device_class == classes_.size()) {
      ++divisions_;
      if (IsLargest()) Add();
      return;
    }
    const int64_t room = RoomFor(device_class);
    // The last class takes all that is left.
    const int64_t least = device_class + 1 == classes_.size() ? room : 0;
    for (int64_t count = room; count >= least && divisions_ <= kMaxDivisions; --count) {
      Take(device_class, count);
      Extend(device_class + 1);
      Take(device_class, -count);
    }
  }

  // No class has a device more to give.
  bool IsLargest() const {
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      int64_t room = static_cast<int64_t>(classes_[c].size()) - taken_[c];
      for (const std::size_t limit : limited_by_[c]) room = std::min(room, room_[limit]);
      if (room > 0) return false;
    }
    return true;
  }

  // The first `count`, except that of those with as much memory as the last one the closest together are taken.
  Devices BestOf(const Devices& devices, std::size_t count) const {
    if (count == 0) return {};
    const auto memory = [&](DeviceId device) { return UsableMemoryBytes(cluster_, device); };
    const auto same = [&](DeviceId device) { return memory(device) == memory(devices[count - 1]); };
    const auto begin = std::find_if(devices.begin(), devices.end(), same);
    const auto end = std::find_if_not(begin, devices.end(), same);
    Devices taken(devices.begin(), begin);
    const Devices packed = Packed({begin, end}, count - taken.size(), group_sizes_);
    taken.insert(taken.end(), packed.begin(), packed.end());
    return taken;
  }

  void Add() {
    std::vector<DeviceId> choice;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const Devices taken = BestOf(classes_[c], static_cast<std::size_t>(taken_[c]));
      choice.insert(choice.end(), taken.begin(), taken.end());
    }
    std::sort(choice.begin(), choice.end());
    if (!choice.empty()) choices_.push_back(std::move(choice));
  }

  const Cluster& cluster_;
  const std::vector<std::size_t> group_sizes_;
  const std::vector<Devices> classes_;
  std::vector<int64_t> taken_;
  // By class: positions of the limits that it counts for.
  std::vector<std::vector<std::size_t>> limited_by_;
  // By limit: how many more devices it has room for.
  std::vector<int64_t> room_;
  int divisions_ = 0;
  std::vector<std::vector<DeviceId>> choices_;
};

}  // namespace

std::vector<DeviceId> CountedDevices(const Cluster& cluster, std::span<const DeviceId> devices) {
  std::vector<DeviceId> counted;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(counted),
               [&](DeviceId device) { return cluster.class_of(device).kind == DeviceKind::kAccelerator; });
  if (counted.empty()) counted.assign(devices.begin(), devices.end());
  return counted;
}

absl::StatusOr<std::vector<std::vector<DeviceId>>> DeviceChoices(const Cluster& cluster,
                                                                 std::span<const DeviceId> selected,
                                                                 std::span<const DeviceLimit> limits) {
  Enumeration enumeration(cluster, ByClass(cluster, selected), limits);
  if (!enumeration.Run()) {
    return absl::ResourceExhaustedError(
        "a limit on the number of devices can be divided among the device classes in too many ways: select fewer "
        "device classes");
  }
  return enumeration.TakeChoices();
}

absl::StatusOr<LimitedSearch> WithinLimits(const SearchRequest& request, std::span<const DeviceId> selected,
                                           std::vector<DeviceLimit> limits) {
  if (RowOf(request.algorithm).heeds(request.problem).device_limits) {
    LimitedSearch search{request, {{selected.begin(), selected.end()}}};
    search.request.device_limits = std::move(limits);
    return search;
  }
  ASSIGN_OR_RETURN(Choices choices, DeviceChoices(request.cluster, selected, limits));
  LimitedSearch search{request, std::move(choices)};
  search.request.device_limits.clear();
  return search;
}

}  // namespace planwright
