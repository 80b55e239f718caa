#include "core/partition/periodic/stage_costs.h"

#include <algorithm>

namespace planwright {

PeriodRange PeriodsOf(const Chain& chain, const ChainDevices& devices) {
  PeriodRange range{.low = Picoseconds(1)};
  for (const ChainLayer& layer : chain.layers) {
    range.low = std::max(range.low, layer.forward + layer.backward);
    range.high += layer.forward + layer.backward;
  }
  range.low = std::max(range.low, Picoseconds(CeilDivide(range.high.count(), devices.count)));
  for (const ChainCut& cut : chain.cuts) range.high += cut.send_forward + cut.send_backward;
  range.high = std::max(range.high, range.low);
  return range;
}

}  // namespace planwright
