// Rules that the validators share. Internal to core/model.
#ifndef PLANWRIGHT_CORE_MODEL_VALIDATION_RULES_H_
#define PLANWRIGHT_CORE_MODEL_VALIDATION_RULES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/units.h"
#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"
#include "core/model/validator.h"

namespace planwright {

// The most devices that an interconnect may have which needs a table of all pairs.
inline constexpr std::size_t kMaxTableDevices = 2'048;

// "prefix[index]".
std::string ElementPath(std::string_view prefix, std::size_t index);

// Each adds a violation at `path`() when the rule is broken. Paths are made only then: graphs are large and mostly
// valid.
template <typename Path>
void RequireAtLeast(int64_t value, int64_t least, const Path& path, Violations& violations) {
  if (value < least) violations.Add(path(), absl::StrCat("must be >= ", least, ", is ", value));
}

template <typename Path>
void RequireNonNegative(Picoseconds time, const Path& path, Violations& violations) {
  if (time < Picoseconds(0)) violations.Add(path(), absl::StrCat("must be >= 0, is ", ToMilliseconds(time)));
}

// Finite and >= 0; finite and > 0.
bool IsNonNegative(double value);
bool IsPositive(double value);

template <typename Path>
void RequireNonNegative(double value, const Path& path, Violations& violations) {
  if (!IsNonNegative(value)) violations.Add(path(), absl::StrCat("must be finite and >= 0, is ", value));
}

template <typename Path>
void RequirePositive(double value, const Path& path, Violations& violations) {
  if (!IsPositive(value)) violations.Add(path(), absl::StrCat("must be finite and > 0, is ", value));
}

// The names of one list: 1 to `max_bytes` bytes, each different.
class NameRules {
 public:
  // `list`: path of the list, e.g. "graph.operators". It and the names outlive the object.
  NameRules(std::string_view list, std::size_t count, int64_t max_bytes, Violations& violations);

  // Checks the name of element `index`. Call it in ascending order.
  void Check(std::string_view name, std::size_t index);

 private:
  std::string_view list_;
  int64_t max_bytes_;
  Violations& violations_;
  absl::flat_hash_map<std::string_view, std::size_t> first_index_;
};

// Rules on what graph, cluster and problem must agree on. Internal to core/model. Graph and cluster are valid.
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

#endif  // PLANWRIGHT_CORE_MODEL_VALIDATION_RULES_H_
