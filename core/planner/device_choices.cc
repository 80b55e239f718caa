#include "core/planner/device_choices.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>

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

// Chooses how many devices of each class to take, one class after the other.
class Enumeration {
 public:
  Enumeration(std::vector<std::vector<DeviceId>> classes, std::span<const DeviceLimit> limits)
      : classes_(std::move(classes)), taken_(classes_.size(), 0), limited_by_(classes_.size()) {
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

  void Add() {
    std::vector<DeviceId> choice;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      choice.insert(choice.end(), classes_[c].begin(), classes_[c].begin() + taken_[c]);
    }
    std::sort(choice.begin(), choice.end());
    if (!choice.empty()) choices_.push_back(std::move(choice));
  }

  const std::vector<std::vector<DeviceId>> classes_;
  std::vector<int64_t> taken_;
  // Of each class: positions of the limits that it counts for.
  std::vector<std::vector<std::size_t>> limited_by_;
  // Of each limit: how many devices more.
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
  Enumeration enumeration(ByClass(cluster, selected), limits);
  if (!enumeration.Run()) {
    return absl::ResourceExhaustedError(
        "a limit on the number of devices can be divided among the device classes in too many ways: select fewer "
        "device classes");
  }
  return enumeration.TakeChoices();
}

}  // namespace planwright
