// What may be chosen for a graph without a transformer's shape where a request leaves it open.
#ifndef PLANWRIGHT_CORE_JOINT_OPERATORS_OPERATOR_SETTINGS_H_
#define PLANWRIGHT_CORE_JOINT_OPERATORS_OPERATOR_SETTINGS_H_

#include "core/joint/cost/training_cluster.h"
#include "core/model/graph.h"
#include "core/model/joint.h"

namespace planwright {

// `given` with every empty list filled in:
//   tensor degrees     those that all operators with variants have, and a node holds; without variants 1
//   context, expert    those that all operators with variants have; without variants 1
//   samples            powers of two up to 16, and the graph's own number, as far as they divide the batch
//   recomputation      none, full
//   orders             1F1B
// and all else as ResolveJoint does. Resolving twice changes nothing.
JointSettings ResolveOperatorJoint(const JointSettings& given, const OperatorGraph& graph,
                                   const TrainingCluster& cluster);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_OPERATORS_OPERATOR_SETTINGS_H_
