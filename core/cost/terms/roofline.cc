#include "core/cost/terms/roofline.h"

#include <algorithm>

namespace planwright {

std::optional<Picoseconds> RooflineTime(const DeviceClass& device_class, double flops, int64_t bytes) {
  if (flops == 0 && bytes == 0) return std::nullopt;
  const double flops_per_second = device_class.peak_flops * device_class.compute_efficiency;
  const double bytes_per_second = device_class.memory_bandwidth_bytes_per_second;
  if ((flops > 0 && flops_per_second == 0) || (bytes > 0 && bytes_per_second == 0)) return std::nullopt;
  const double arithmetic_seconds = flops > 0 ? flops / flops_per_second : 0;
  const double traffic_seconds = bytes > 0 ? static_cast<double>(bytes) / bytes_per_second : 0;
  const std::optional<Picoseconds> time = FromMilliseconds(1000 * std::max(arithmetic_seconds, traffic_seconds));
  if (!time.has_value()) return std::nullopt;
  return *time + device_class.kernel_overhead;
}

}  // namespace planwright
