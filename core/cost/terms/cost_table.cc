#include "core/cost/terms/cost_table.h"

#include <algorithm>

#include "core/base/interruption.h"
#include "core/model/support.h"

namespace planwright {
namespace {

// REQUIRES: CanRun.
OperatorTime EstimatedTime(const Operator& op, const DeviceClass& device_class, bool training) {
  OperatorTime time{.supported = true, .estimated = true};
  const auto forward = RooflineTime(device_class, op.forward_flops, op.forward_bytes_accessed);
  time.forward = forward.value_or(Picoseconds(0));
  if (!training) return time;
  const auto backward = RooflineTime(device_class, op.backward_flops, op.backward_bytes_accessed);
  time.backward = backward.value_or(Picoseconds(0));
  return time;
}

OperatorTime TimeOf(const Operator& op, const DeviceClass& device_class, Workload workload) {
  const bool training = workload == Workload::kTraining;
  if (!CanRun(op, device_class, workload)) return {};
  if (op.type == kInputOperatorType) return {.supported = true};
  const OperatorCost* cost = MeasuredCost(op, device_class);
  if (cost == nullptr) return EstimatedTime(op, device_class, training);
  return {.forward = cost->forward, .backward = training ? cost->backward : Picoseconds(0), .supported = true};
}

}  // namespace

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

CostTable::CostTable(const OperatorGraph& graph, const Cluster& cluster, Workload workload)
    : network_(cluster.interconnect), num_classes_(cluster.device_classes.size()) {
  const bool training = workload == Workload::kTraining;
  times_.reserve(graph.operators.size() * num_classes_);
  for (const Operator& op : graph.operators) {
    const bool backward_pass = op.pass == Pass::kBackward;
    for (const DeviceClass& device_class : cluster.device_classes) {
      InterruptionPoint(/*units=*/16);
      OperatorTime& time = times_.emplace_back();
      time.supported = true;
      if (backward_pass && !training) continue;
      time = TimeOf(op, device_class, workload);
      if (backward_pass) std::swap(time.forward, time.backward);
    }
  }
}

}  // namespace planwright
