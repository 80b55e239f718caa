// Orders in which a pipeline may go through the devices of a cluster.
#ifndef PLANWRIGHT_CORE_PARTITION_SEQUENCE_DEVICE_SEQUENCES_H_
#define PLANWRIGHT_CORE_PARTITION_SEQUENCE_DEVICE_SEQUENCES_H_

#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "core/partition/search/search.h"
#include "core/partition/sequence/device_teams.h"

namespace planwright {

// The order of the cluster; where devices differ, also its reverse and by memory and by speed, each way round; where
// links differ, also from one device to the nearest one that is left, from a few first devices. None twice, and none
// with more devices than request.device_limits allow. O(devices^2) for each.
std::vector<DeviceSequence> DeviceSequences(const SearchRequest& request);

// `sequence` without the devices that are beyond request.device_limits, from its beginning on.
DeviceSequence WithinLimits(const SearchRequest& request, const DeviceSequence& sequence);

// `sequence` and then all other devices of the cluster.
DeviceSequence Completed(const SearchRequest& request, DeviceSequence sequence);

// Teams of `replicas` devices, each from another of as many equal parts of the sequence: copies of the pipeline that
// keep to themselves. What is left over is left out.
DeviceSequence InLanes(const DeviceSequence& sequence, int32_t replicas);

// The sequence with two devices or two runs exchanged, a device moved or a run turned round. REQUIRES: two devices at
// least.
DeviceSequence Varied(DeviceSequence sequence, RandomStream& random);

// Whether it matters in which order devices come: they, their links or what they may run differ.
bool DevicesDiffer(const SearchRequest& request);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEQUENCE_DEVICE_SEQUENCES_H_
