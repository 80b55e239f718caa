#include "core/cost/cost_table.h"

#include <algorithm>

#include "core/cost/roofline.h"

namespace planwright {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

OperatorTime EstimatedTime(const Operator& op, const DeviceClass& device_class, bool training) {
  OperatorTime time;
  const auto forward = RooflineTime(device_class, op.forward_flops, op.forward_bytes_accessed);
  if (!forward.has_value()) return time;
  if (training && (op.backward_flops > 0 || op.backward_bytes_accessed > 0)) {
    const auto backward = RooflineTime(device_class, op.backward_flops, op.backward_bytes_accessed);
    if (!backward.has_value()) return time;
    time.backward = *backward;
  }
  time.forward = *forward;
  time.supported = true;
  time.estimated = true;
  return time;
}

OperatorTime MeasuredTime(const OperatorCost& cost, bool training) {
  return {.forward = cost.forward, .backward = training ? cost.backward : Picoseconds(0), .supported = true};
}

OperatorTime TimeOf(const Operator& op, const DeviceClass& device_class, bool training) {
  if (Contains(op.unsupported_device_classes, device_class.name)) return {};
  if (op.type == kInputOperatorType) return {.supported = true};
  for (const OperatorCost& cost : op.costs) {
    if (cost.device_class == device_class.name) return MeasuredTime(cost, training);
  }
  return EstimatedTime(op, device_class, training);
}

}  // namespace

CostTable::CostTable(const OperatorGraph& graph, const Cluster& cluster, Workload workload)
    : num_classes_(cluster.device_classes.size()) {
  const bool training = workload == Workload::kTraining;
  times_.reserve(graph.operators.size() * num_classes_);
  for (const Operator& op : graph.operators) {
    const bool backward_pass = op.pass == Pass::kBackward;
    for (const DeviceClass& device_class : cluster.device_classes) {
      OperatorTime& time = times_.emplace_back();
      time.supported = true;
      if (backward_pass && !training) continue;
      time = TimeOf(op, device_class, training);
      if (backward_pass) std::swap(time.forward, time.backward);
    }
  }
}

}  // namespace planwright
