// How long every operator takes on every class of devices, resolved once per request.
#ifndef PLANWRIGHT_CORE_COST_TERMS_COST_TABLE_H_
#define PLANWRIGHT_CORE_COST_TERMS_COST_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/cost/terms/transfer.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// 1000 x max(flops / (peak_flops x compute_efficiency), bytes / memory bandwidth) milliseconds, rounded to the nearest
// picosecond, + kernel_overhead. A number that is 0 takes no part.
// nullopt: `flops` and `bytes` are both 0, or the class lacks the speed that one of them needs.
// REQUIRES: flops finite and >= 0, bytes >= 0, a valid class.
std::optional<Picoseconds> RooflineTime(const DeviceClass& device_class, double flops, int64_t bytes);

// Time of one operator on one class for one micro-batch, under the workload of the problem.
struct OperatorTime {
  // Time of the forward pass (of a BACKWARD operator: 0).
  Picoseconds forward{0};
  // Time of the backward pass: `backward` costs of a forward operator, or the time of a BACKWARD operator; 0 for
  // INFERENCE.
  Picoseconds backward{0};
  // The class can run it.
  bool supported = false;
  // A roofline estimate, not a measurement.
  bool estimated = false;

  Picoseconds total() const { return forward + backward; }
};

// Operators x device classes, and how fast the devices are connected. Immutable. Memory: 24 bytes an entry.
class CostTable {
 public:
  // `workload` is resolved. For INFERENCE, BACKWARD operators take no time anywhere and every class supports them
  // (they are dropped). Complexity O(operators x (classes + costs)), beside that of Network.
  CostTable(const OperatorGraph& graph, const Cluster& cluster, Workload workload);

  const OperatorTime& time(OperatorId op, DeviceClassId device_class) const {
    return times_[op.index() * num_classes_ + device_class.index()];
  }

  std::size_t num_classes() const { return num_classes_; }
  const Network& network() const { return network_; }

 private:
  Network network_;
  std::size_t num_classes_;
  std::vector<OperatorTime> times_;
};

// What is planned, on what, and at what cost: the values that every search takes together.
struct PlanningInput : ResolvedInput {
  // The costs of `graph` on `cluster`, for the workload of `problem`.
  const CostTable& costs;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_TERMS_COST_TABLE_H_
