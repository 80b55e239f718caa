// Rules on what graph, cluster and problem must agree on. Internal to core/model. Graph and cluster are valid.
#ifndef PLANWRIGHT_CORE_MODEL_PROBLEM_RULES_H_
#define PLANWRIGHT_CORE_MODEL_PROBLEM_RULES_H_

#include <cstdint>

#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"
#include "core/model/validator.h"

namespace planwright {

// Sizes of all operators under DECLARED memory and no settings that it would ignore; a bandwidth or a transfer time for
// everything that may cross or be reduced; sums of times and bytes below kMaxQuantity, so that no later sum overflows.
// `given`: what the problem was before it was resolved.
void CheckQuantities(const ResolvedInput& input, const PlanningProblem& given, Violations& violations);

// Pins and prohibitions that contradict support, colocation or each other. Pairs whose ids are out of range, and
// operators that the workload drops, are passed over.
void CheckConstraints(const ResolvedInput& input, Violations& violations);

// Samples of a step: the search looks at all divisors.
inline constexpr int64_t kMaxGlobalBatch = int64_t{1} << 24;

// Ranks that share an operator or a batch, of one kind.
inline constexpr int32_t kMaxDegree = 1 << 24;

// Variants of the operator numbered `op`; and layouts of all variants with the changes between them.
// REQUIRES of the second: ends of tensors are operators of the graph.
void CheckVariants(const OperatorGraph& graph, std::size_t op, const ModelLimits& limits, Violations& violations);
void CheckLayouts(const OperatorGraph& graph, const ModelLimits& limits, Violations& violations);

// graph.transformer alone.
void CheckTransformer(const TransformerShape& shape, Violations& violations);

// Domains and divisions of problem.joint, layers of the graph that the shape has, and fields of the problem that say
// otherwise. REQUIRES: problem.joint is set; graph and cluster are valid.
void CheckJoint(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                Violations& violations);

// Every pair of devices has at least 1 byte/s, as transfers are counted in whole bytes a second; where all devices of a
// child of a level share its port, each. REQUIRES: cluster is valid.
void CheckLeastBandwidth(const Cluster& cluster, Violations& violations);

// What else is asked of problem.joint, which is `joint`, where replicas take whole micro-batches in turn. REQUIRES: as
// CheckJoint.
void CheckRoundRobin(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                     const JointSettings& joint, Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_PROBLEM_RULES_H_
