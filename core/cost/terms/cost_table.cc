#include "core/cost/terms/cost_table.h"

#include "core/base/interruption.h"
#include "core/cost/terms/roofline.h"
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
