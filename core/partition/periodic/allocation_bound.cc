#include "core/partition/periodic/allocation_bound.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/index.h"
#include "core/cost/chain_sums.h"
#include "core/partition/periodic/stage_costs.h"
#include "core/schedule/delay.h"
#include "core/schedule/least_period.h"

namespace planwright {
namespace {

// Sums of bytes as doubles are off by less than this share.
constexpr double kSlack = 1e-9;

class Relaxation {
 public:
  Relaxation(const Chain& chain, const ChainDevices& devices)
      : chain_(chain), devices_(devices), sums_(chain), batches_(chain.layers.size()), cost_(chain.layers.size() + 1) {}

  // Whether nothing speaks against the period.
  bool Allows(Picoseconds period) {
    period_ = period;
    const double kept = KeptBytes();
    const double room = static_cast<double>(*devices_.memory_bytes) * devices_.count;
    return kept + CheapestEnds() <= room * (1 + kSlack);
  }

 private:
  double Periods(Picoseconds time) const {
    return static_cast<double>(time.count()) / static_cast<double>(period_.count());
  }

  // Static and average stored bytes of all layers. Notes how many micro-batches each layer stores at its peak.
  double KeptBytes() {
    double bytes = 0;
    Delay delay;
    for (std::size_t layer = chain_.layers.size(); layer-- > 0;) {
      const ChainLayer& held = chain_.layers[layer];
      delay = delay.Behind(held.forward, held.backward, period_);
      batches_[layer] = chain_.has_backward ? delay.Batches() : 1;
      const double away = chain_.has_backward ? Periods(delay.Length(period_)) : 0;
      bytes += static_cast<double>(held.static_bytes) + away * static_cast<double>(held.stored_bytes);
    }
    return bytes;
  }

  // What the ends of runs cost at least, in bytes on average; infinite: some layer fits into no run.
  double CheapestEnds() {
    const int32_t num_layers = sums_.num_layers();
    std::fill(cost_.begin(), cost_.end(), std::numeric_limits<double>::infinity());
    cost_.back() = 0;
    for (int32_t end = num_layers; end > 0; --end) {
      if (cost_[Index(end)] < std::numeric_limits<double>::infinity()) AddRuns(end);
    }
    return cost_.front();
  }

  // Every run that ends before layer `end` and fits a device.
  void AddRuns(int32_t end) {
    int64_t kept = end < sums_.num_layers() ? chain_.cuts[Index(end) - 1].buffer_bytes : 0;
    // Layers that store as many micro-batches do so together, when the last of them starts.
    int64_t group = 0;
    int64_t largest_group = 0;
    for (int32_t first = end - 1; first >= 0; --first) {
      const ChainLayer& layer = chain_.layers[Index(first)];
      const int32_t batches = batches_[Index(first)];
      if (first + 1 < end && batches != batches_[Index(first) + 1]) group = 0;
      group = chain_.has_backward ? group + layer.stored_bytes : layer.stored_bytes;
      largest_group = std::max(largest_group, group);
      kept += layer.static_bytes + (batches - 1) * layer.stored_bytes;
      const int64_t peak = kept + largest_group + sums_.workspace_bytes(first, end - 1);
      if (sums_.compute(first, end - 1) > period_ || peak > *devices_.memory_bytes) return;
      double& best = cost_[Index(first)];
      if (first == 0) {
        best = std::min(best, cost_[Index(end)]);
        return;
      }
      const ChainCut& cut = chain_.cuts[Index(first) - 1];
      if (peak + cut.buffer_bytes > *devices_.memory_bytes) continue;
      best = std::min(best, cost_[Index(end)] + EndCost(first));
    }
  }

  // Of the cut before `layer`: buffers at both sides, and what the layers before it store meanwhile.
  double EndCost(int32_t layer) const {
    const ChainCut& cut = chain_.cuts[Index(layer) - 1];
    const double away = chain_.has_backward ? Periods(cut.send_forward + cut.send_backward) : 0;
    return 2 * static_cast<double>(cut.buffer_bytes) + away * static_cast<double>(sums_.stored_bytes(0, layer - 1));
  }

  const Chain& chain_;
  const ChainDevices& devices_;
  const ChainSums sums_;
  Picoseconds period_{1};
  // By layer: micro-batches that it stores at its peak, at least.
  std::vector<int32_t> batches_;
  // By layer: of the ends of runs from there on, the one in front of it included.
  std::vector<double> cost_;
};

}  // namespace

std::optional<Picoseconds> AllocationBound(const Chain& chain, const ChainDevices& devices) {
  const PeriodRange range = PeriodsOf(chain, devices);
  if (!devices.memory_bytes.has_value()) return range.low;
  Relaxation relaxation(chain, devices);
  return LeastPeriod(range.low, range.high, [&](Picoseconds period) {
    return relaxation.Allows(period) ? std::optional(period) : std::nullopt;
  });
}

}  // namespace planwright
