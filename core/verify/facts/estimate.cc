#include "core/verify/facts/estimate.h"

#include <algorithm>

#include "core/base/units.h"

namespace planwright {

void FillEstimate(const OperatorGraph& graph, Plan& plan) {
  Estimate& estimate = plan.estimate;
  for (const DeviceUsage& usage : plan.devices) {
    estimate.peak_memory_bytes = std::max(estimate.peak_memory_bytes, usage.memory_bytes);
  }
  if (plan.objective.count() == 0) return;
  const auto objective = static_cast<double>(plan.objective.count());
  estimate.micro_batches_per_second = kPicosecondsPerSecond / objective;
  estimate.samples_per_second = estimate.micro_batches_per_second * static_cast<double>(graph.samples_per_micro_batch);
  double busy = 0;
  int devices_in_use = 0;
  for (const DeviceUsage& usage : plan.devices) {
    busy += static_cast<double>(usage.load.count());
    if (!usage.stages.empty()) ++devices_in_use;
  }
  // A CPU of MIN_LATENCY may do several things at a time.
  estimate.bubble_fraction = std::max(0.0, 1 - busy / (devices_in_use * objective));
}

}  // namespace planwright
