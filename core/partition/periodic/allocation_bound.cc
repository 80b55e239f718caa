#include "core/partition/periodic/allocation_bound.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/index.h"
#include "core/cost/chain/chain_costs.h"
#include "core/partition/periodic/stage_costs.h"
#include "core/schedule/delay.h"
#include "core/schedule/least_period.h"

namespace planwright {
namespace {

// Sums of bytes as doubles are off by less than this share.
constexpr double kRoundingOfBytes = 1e-9;

double Ratio(Picoseconds time, Picoseconds period) {
  return static_cast<double>(time.count()) / static_cast<double>(period.count());
}

class Relaxation {
 public:
  // On so many devices of so much memory.
  Relaxation(const Chain& chain, int32_t devices, int64_t memory_bytes)
      : chain_(chain),
        devices_(devices),
        memory_bytes_(memory_bytes),
        sums_(chain),
        batches_(chain.layers.size()),
        cost_(chain.layers.size() + 1) {}

  // Whether nothing speaks against the period.
  bool Allows(Picoseconds period) {
    period_ = period;
    const double kept = KeptBytes();
    const double room = static_cast<double>(memory_bytes_) * devices_;
    return kept + CheapestEnds() <= room * (1 + kRoundingOfBytes);
  }

 private:
  // Static and average stored bytes of all layers. Notes how many micro-batches each layer stores at its peak.
  double KeptBytes() {
    double bytes = 0;
    Delay delay;
    for (std::size_t layer = chain_.layers.size(); layer-- > 0;) {
      const ChainLayer& held = chain_.layers[layer];
      delay = delay.Behind(held.forward, held.backward, period_);
      batches_[layer] = chain_.has_backward ? delay.Batches() : 0;
      const double away = chain_.has_backward ? Ratio(delay.Length(period_), period_) : 0;
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
    LeastDeviceUse need;
    if (end < sums_.num_layers()) need.AddBuffer(chain_.cuts[Index(end) - 1].buffer_bytes);
    for (int32_t first = end - 1; first >= 0; --first) {
      need.AddStage(sums_, first, first, batches_[Index(first)]);
      if (need.load() > period_ || need.bytes() > memory_bytes_) return;
      double& best = cost_[Index(first)];
      if (first == 0) {
        best = std::min(best, cost_[Index(end)]);
        return;
      }
      if (need.bytes() + chain_.cuts[Index(first) - 1].buffer_bytes > memory_bytes_) continue;
      best = std::min(best, cost_[Index(end)] + RunEndBytes(chain_, sums_, first, period_));
    }
  }

  const Chain& chain_;
  const int32_t devices_;
  const int64_t memory_bytes_;
  const ChainSums sums_;
  Picoseconds period_{1};
  // By layer: micro-batches that it stores at its peak, at least; 0 without backward passes.
  std::vector<int32_t> batches_;
  // By layer: of the ends of runs from there on, the one in front of it included.
  std::vector<double> cost_;
};

}  // namespace

double RunEndBytes(const Chain& chain, const ChainSums& sums, int32_t layer, Picoseconds period) {
  const ChainCut& cut = chain.cuts[Index(layer) - 1];
  const double away = chain.has_backward ? Ratio(cut.send_forward + cut.send_backward, period) : 0;
  return 2 * static_cast<double>(cut.buffer_bytes) + away * static_cast<double>(sums.stored_bytes(0, layer - 1));
}

bool StagesReceive(const Chain& chain) {
  return std::any_of(chain.layers.begin(), chain.layers.end(),
                     [](const ChainLayer& layer) { return layer.received_bytes > 0; });
}

std::optional<Picoseconds> AllocationBound(const Chain& chain, const ChainDevices& devices) {
  const PeriodRange range = PeriodsOf(chain, devices);
  if (!devices.memory_bytes.has_value()) return range.low;
  // Layers that are stages of their own keep more than one stage of them: what each receives counts nothing here.
  Chain relaxed = chain;
  for (ChainLayer& layer : relaxed.layers) layer.received_bytes = 0;
  Relaxation relaxation(relaxed, devices.count, *devices.memory_bytes);
  return LeastPeriod(range.low, range.high, [&](Picoseconds period) {
    return relaxation.Allows(period) ? std::optional(period) : std::nullopt;
  });
}

}  // namespace planwright
