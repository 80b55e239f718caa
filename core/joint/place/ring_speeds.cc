#include "core/joint/place/ring_speeds.h"

#include <algorithm>
#include <cstddef>

#include "core/joint/cost/pair_links.h"

namespace planwright {

RingSpeeds::RingSpeeds(const TrainingCluster& cluster, Poller& poller) {
  for (const DeviceId device : cluster.devices) {
    if (poller.ShouldStop(static_cast<int64_t>(cluster.devices.size()) * 16)) {
      firsts_.clear();
      seconds_.clear();
      return;
    }
    double first = 0;
    double second = 0;
    for (const DeviceId other : cluster.devices) {
      if (other == device) continue;
      const double bandwidth = cluster.pairs->Between(device, other).bytes_per_second;
      second = std::max(second, std::min(first, bandwidth));
      first = std::max(first, bandwidth);
    }
    firsts_.push_back(first);
    seconds_.push_back(second);
  }
  std::sort(firsts_.rbegin(), firsts_.rend());
  std::sort(seconds_.rbegin(), seconds_.rend());
}

TrainingLink RingSpeeds::BestOf(int64_t ranks, TrainingLink fastest) const {
  const std::vector<double>& speeds = ranks == 2 ? firsts_ : seconds_;
  if (ranks < 2 || speeds.empty()) return fastest;
  fastest.bytes_per_second = std::min(fastest.bytes_per_second, speeds[static_cast<std::size_t>(ranks - 1)]);
  return fastest;
}

}  // namespace planwright
