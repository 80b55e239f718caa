// Which sets of devices are worth a search when a plan may use only so many of those that are selected.
#ifndef PLANWRIGHT_CORE_PLANNER_DEVICES_DEVICE_CHOICES_H_
#define PLANWRIGHT_CORE_PLANNER_DEVICES_DEVICE_CHOICES_H_

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/ids.h"
#include "core/model/cluster.h"
#include "core/model/device_selection.h"
#include "core/partition/search/search.h"

namespace planwright {

// The devices whose number MIN_DEVICES keeps small: the accelerators among `devices`; all of them where there is none.
std::vector<DeviceId> CountedDevices(const Cluster& cluster, std::span<const DeviceId> devices);

// The largest subsets of `selected` within all limits, of which one holds (a plan no worse than) any plan within the
// limits: one for each division of the limits among the device classes, and of a class the devices with the greatest
// usable memory, the first ones of those. That loses nothing where all pairs of devices are connected alike: devices of
// one class then differ in their memory only. On a hierarchy devices of equal memory are taken close together (the
// smallest group that holds them all, else whole groups first), which need not be the best choice.
// At least one subset unless the limits leave no device.
// REQUIRES: each limit speaks of whole device classes. Errors: RESOURCE_EXHAUSTED, thousands of subsets.
absl::StatusOr<std::vector<std::vector<DeviceId>>> DeviceChoices(const Cluster& cluster,
                                                                 std::span<const DeviceId> selected,
                                                                 std::span<const DeviceLimit> limits);

// What to search so that no limit is broken.
struct LimitedSearch {
  SearchRequest request;
  // One search on each of these sets finds the best plan.
  std::vector<std::vector<DeviceId>> choices;
};

// A search that heeds limits leaves devices idle by itself (HeededSettings::device_limits), so one search on all of
// `selected` is told them, and chooses the devices by how they are connected. Others go through DeviceChoices. REQUIRES
// and errors: those of DeviceChoices.
absl::StatusOr<LimitedSearch> WithinLimits(const SearchRequest& request, std::span<const DeviceId> selected,
                                           std::vector<DeviceLimit> limits);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_DEVICES_DEVICE_CHOICES_H_
