#include "core/mapping/problem/link_times.h"

namespace planwright {
namespace {

constexpr double kMsPerSecond = 1e3;
constexpr double kMsPerPicosecond = 1e-9;

LinkTime TimeOf(const LinkSpeed& speed) {
  LinkTime time{.latency_ms = static_cast<double>(speed.latency.count()) * kMsPerPicosecond};
  if (speed.bandwidth_bytes_per_second.has_value()) time.ms_per_byte = kMsPerSecond / *speed.bandwidth_bytes_per_second;
  return time;
}

}  // namespace

LinkTimes::LinkTimes(const Network& network, std::size_t num_devices) : network_(network), num_devices_(num_devices) {
  for (std::size_t link = 0; link < network.num_link_classes(); ++link) times_.push_back(TimeOf(network.speed(link)));
  if (num_devices > kTabledDevices) return;
  classes_.resize(num_devices * num_devices);
  is_symmetric_ = true;
  for (std::size_t a = 0; a < num_devices; ++a) {
    for (std::size_t b = 0; b < num_devices; ++b) {
      if (a == b) continue;
      classes_[a * num_devices + b] = static_cast<uint32_t>(network.LinkClassOf(DeviceId(a), DeviceId(b)));
      if (b < a && classes_[a * num_devices_ + b] != classes_[b * num_devices_ + a]) is_symmetric_ = false;
    }
  }
}

}  // namespace planwright
