#include "core/verify/facts/operator_time.h"

#include <algorithm>
#include <cstdint>

#include "core/base/interruption.h"

namespace planwright {
namespace {

bool Lists(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Time of one pass by the roofline; nullopt: the class does not say how fast it is.
std::optional<Picoseconds> RooflinePass(double flops, int64_t bytes, const DeviceClass& device_class) {
  const double rate = device_class.peak_flops * device_class.compute_efficiency;
  const double bandwidth = device_class.memory_bandwidth_bytes_per_second;
  if ((flops > 0 && rate <= 0) || (bytes > 0 && bandwidth <= 0)) return std::nullopt;
  const double compute_seconds = flops > 0 ? flops / rate : 0;
  const double traffic_seconds = bytes > 0 ? static_cast<double>(bytes) / bandwidth : 0;
  const std::optional<Picoseconds> time = FromMilliseconds(1000 * std::max(compute_seconds, traffic_seconds));
  if (!time.has_value()) return std::nullopt;
  return *time + device_class.kernel_overhead;
}

std::optional<JudgedTime> RooflineTime(const Operator& op, const DeviceClass& device_class, Workload workload) {
  if (op.forward_flops <= 0 && op.forward_bytes_accessed <= 0) return std::nullopt;
  const std::optional<Picoseconds> forward = RooflinePass(op.forward_flops, op.forward_bytes_accessed, device_class);
  if (!forward.has_value()) return std::nullopt;
  JudgedTime time{*forward, Picoseconds(0), true};
  if (workload == Workload::kTraining && (op.backward_flops > 0 || op.backward_bytes_accessed > 0)) {
    const std::optional<Picoseconds> backward =
        RooflinePass(op.backward_flops, op.backward_bytes_accessed, device_class);
    if (!backward.has_value()) return std::nullopt;
    time.backward = *backward;
  }
  return time;
}

std::optional<JudgedTime> MeasuredOrEstimatedTime(const Operator& op, const DeviceClass& device_class,
                                                  Workload workload) {
  if (op.type == kInputOperatorType) return JudgedTime{};
  for (const OperatorCost& cost : op.costs) {
    if (cost.device_class != device_class.name) continue;
    const bool trains = workload == Workload::kTraining;
    return JudgedTime{cost.forward, trains ? cost.backward : Picoseconds(0), false};
  }
  return RooflineTime(op, device_class, workload);
}

}  // namespace

std::optional<JudgedTime> TimeOn(const Operator& op, const DeviceClass& device_class, Workload workload) {
  InterruptionPoint(/*units=*/8);
  if (Lists(op.unsupported_device_classes, device_class.name)) return std::nullopt;
  std::optional<JudgedTime> time = MeasuredOrEstimatedTime(op, device_class, workload);
  // What the graph calls the forward time of a BACKWARD operator is its only time.
  if (time.has_value() && op.pass == Pass::kBackward) *time = {Picoseconds(0), time->total(), time->estimated};
  return time;
}

}  // namespace planwright
