// Rules on joint settings and on what they need of graph and cluster. Internal to core/model.
#ifndef PLANWRIGHT_CORE_MODEL_JOINT_RULES_H_
#define PLANWRIGHT_CORE_MODEL_JOINT_RULES_H_

#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// Samples of a step: the search looks at all divisors.
inline constexpr int64_t kMaxGlobalBatch = int64_t{1} << 24;

// The shape of graph.transformer alone.
void CheckTransformer(const OperatorGraph& graph, Violations& violations);

// Domains and divisions of problem.joint, layers of the graph that the shape has, and fields of the problem that say
// otherwise. REQUIRES: problem.joint is set; graph and cluster are valid.
void CheckJoint(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_JOINT_RULES_H_
