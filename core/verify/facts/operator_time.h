// Time of one operator on one class of devices, from the graph's own numbers (docs/cost-model.md section 2).
#ifndef PLANWRIGHT_CORE_VERIFY_FACTS_OPERATOR_TIME_H_
#define PLANWRIGHT_CORE_VERIFY_FACTS_OPERATOR_TIME_H_

#include <optional>

#include "core/base/units.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

struct JudgedTime {
  // Per micro-batch. A BACKWARD operator has a backward time only.
  Picoseconds forward{0};
  Picoseconds backward{0};
  // A roofline estimate, not a measurement.
  bool estimated = false;

  Picoseconds total() const { return forward + backward; }
};

// nullopt: the class cannot run the operator. For INFERENCE the backward pass takes no time.
// REQUIRES: the operator takes part in the workload.
std::optional<JudgedTime> TimeOn(const Operator& op, const DeviceClass& device_class, Workload workload);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_FACTS_OPERATOR_TIME_H_
