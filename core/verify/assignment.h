// Who is where: a placement whose structure has been checked.
#ifndef PLANWRIGHT_CORE_VERIFY_ASSIGNMENT_H_
#define PLANWRIGHT_CORE_VERIFY_ASSIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// Whether the workload leaves the operator out: BACKWARD operators of INFERENCE.
bool IsDropped(const Operator& op, Workload workload);

// Every operator that takes part in exactly one stage, every stage on one device.
struct Assignment {
  struct Stage {
    // Position in the placement as given, for paths.
    std::size_t given_index = 0;
    DeviceId device;
    // Ascending, without dropped ones; not empty.
    std::vector<OperatorId> operators;
  };
  static constexpr int32_t kDropped = -1;

  std::vector<Stage> stages;
  // Position in `stages` of each operator; kDropped for operators that take no part.
  std::vector<int32_t> stage_of;

  DeviceId device_of(OperatorId op) const { return stages[static_cast<std::size_t>(stage_of[op.index()])].device; }

  // Puts stage order[i] at position i. REQUIRES: a permutation.
  void Reorder(const std::vector<std::size_t>& order);
};

// Checks ids, that every operator is in one stage, that every stage has one device that can run its operators, that
// colocated operators share a device, and how many stages a device holds; each with a path into `placement`.
// nullopt: the placement cannot be costed (see Verdict::costed). Stages keep their order; empty ones are left out.
// Complexity O(operators log operators + cost entries).
std::optional<Assignment> CheckStructure(const OperatorGraph& graph, const Cluster& cluster,
                                         const PlanningProblem& problem, const Placement& placement,
                                         Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_ASSIGNMENT_H_
