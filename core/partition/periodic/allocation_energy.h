// How far an allocation is from what a period and the memory of devices allow, in time proportional to its stages.
//
// Devices and links must not have more to do than fits into a period. Behind a stage, a micro-batch stays away for at
// least the delay that the stages and cuts behind it add up to (delay.h), each as if it had its resource for itself; so
// for any allocation the stage keeps at least so many micro-batches when its forward pass starts, and at least one
// fewer at any time (MadPipe, section 4.2.1). Made tighter: what a stage keeps is kept by every earlier one as well, so
// stages of a device that keep as many, a group of 1F1B*, do so together when the forward pass of the last of them
// starts. What exceeds the limits is the energy; anything above 0 proves that no pattern of that period exists.
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_ALLOCATION_ENERGY_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_ALLOCATION_ENERGY_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/cost/chain/chain_sums.h"
#include "core/model/chain.h"
#include "core/partition/periodic/least_device_use.h"

namespace planwright {

// Keeps its memory between calls; not thread-safe. What it is given outlives it.
class AllocationEnergy {
 public:
  AllocationEnergy(const Chain& chain, const ChainSums& sums, const ChainDevices& devices);

  // The sum over devices and links of their excess load in periods, transfers at half, and over devices of their excess
  // memory in limits. 0: nothing speaks against this period. REQUIRES: period > 0. O(stages).
  double Of(const ChainAllocation& allocation, Picoseconds period);

 private:
  void Clear();
  void AddCut(const ChainCut& cut, int32_t from, int32_t to);
  Picoseconds& LinkLoad(int32_t from, int32_t to);
  double DeviceExcess(Picoseconds period) const;

  const Chain& chain_;
  const ChainSums& sums_;
  const ChainDevices& devices_;
  std::vector<LeastDeviceUse> needs_;
  // By pair of devices.
  std::vector<Picoseconds> link_loads_;
  std::vector<std::size_t> used_links_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_ALLOCATION_ENERGY_H_
