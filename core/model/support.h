// Which classes of devices can run an operator (docs/cost-model.md section 2).
#ifndef PLANWRIGHT_CORE_MODEL_SUPPORT_H_
#define PLANWRIGHT_CORE_MODEL_SUPPORT_H_

#include <cstdint>
#include <vector>

#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// The measured cost of `op` on the class; nullptr: there is none.
const OperatorCost* MeasuredCost(const Operator& op, const DeviceClass& device_class);

// The class is not listed as unsupported, and it has a measured cost or the speeds that an estimate needs; graph inputs
// need neither. What the workload drops (BACKWARD operators for INFERENCE) runs anywhere. Complexity O(costs).
bool CanRun(const Operator& op, const DeviceClass& device_class, Workload workload);

// Of degrees of variants: those that every operator with variants has, or those that any has.
enum class DegreesOf { kEvery, kAny };

// Ascending; 1 where none has variants. Operators whose variants say no expert degree have each.
// O(variants log variants).
std::vector<int32_t> TensorDegreesOf(const OperatorGraph& graph, DegreesOf which = DegreesOf::kEvery);
std::vector<int32_t> ContextDegreesOf(const OperatorGraph& graph, DegreesOf which = DegreesOf::kEvery);
std::vector<int32_t> ExpertDegreesOf(const OperatorGraph& graph, DegreesOf which = DegreesOf::kEvery);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_SUPPORT_H_
