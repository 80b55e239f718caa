#include "core/partition/periodic/allocation_energy.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/index.h"
#include "core/schedule/delay.h"

namespace planwright {
namespace {

constexpr double kLinkWeight = 0.5;

double Excess(int64_t value, int64_t limit) {
  return value > limit ? static_cast<double>(value - limit) / static_cast<double>(std::max<int64_t>(1, limit)) : 0;
}

}  // namespace

AllocationEnergy::AllocationEnergy(const Chain& chain, const ChainSums& sums, const ChainDevices& devices)
    : chain_(chain),
      sums_(sums),
      devices_(devices),
      needs_(Index(devices.count)),
      link_loads_(Index(devices.count) * Index(devices.count)) {}

double AllocationEnergy::Of(const ChainAllocation& allocation, Picoseconds period) {
  Clear();
  Delay delay;
  for (std::size_t stage = allocation.size(); stage-- > 0;) {
    const auto& [first, last, device] = allocation[stage];
    delay = delay.Behind(sums_.forward(first, last), sums_.backward(first, last), period);
    needs_[Index(device)].AddStage(sums_, first, last, chain_.has_backward ? delay.Batches() : 0);
    if (stage == 0 || allocation[stage - 1].device == device) continue;
    const ChainCut& cut = chain_.cuts[Index(first) - 1];
    AddCut(cut, allocation[stage - 1].device, device);
    delay = AcrossCut(delay, cut, devices_.full_duplex, period);
  }
  double energy = DeviceExcess(period);
  for (const std::size_t link : used_links_) {
    energy += kLinkWeight * Excess(link_loads_[link].count(), period.count());
  }
  return energy;
}

void AllocationEnergy::Clear() {
  std::fill(needs_.begin(), needs_.end(), LeastDeviceUse{});
  for (const std::size_t link : used_links_) link_loads_[link] = Picoseconds(0);
  used_links_.clear();
}

void AllocationEnergy::AddCut(const ChainCut& cut, int32_t from, int32_t to) {
  needs_[Index(from)].AddBuffer(cut.buffer_bytes);
  needs_[Index(to)].AddBuffer(cut.buffer_bytes);
  LinkLoad(from, to) += cut.send_forward;
  LinkLoad(to, from) += cut.send_backward;
}

Picoseconds& AllocationEnergy::LinkLoad(int32_t from, int32_t to) {
  if (!devices_.full_duplex && from > to) std::swap(from, to);
  const std::size_t link = Index(from) * Index(devices_.count) + Index(to);
  if (link_loads_[link].count() == 0) used_links_.push_back(link);
  return link_loads_[link];
}

double AllocationEnergy::DeviceExcess(Picoseconds period) const {
  double excess = 0;
  for (const LeastDeviceUse& need : needs_) {
    excess += Excess(need.load().count(), period.count());
    if (devices_.memory_bytes.has_value()) excess += Excess(need.bytes(), *devices_.memory_bytes);
  }
  return excess;
}

}  // namespace planwright
