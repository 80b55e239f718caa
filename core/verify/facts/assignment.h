// Who is where: a placement whose ids have been checked.
#ifndef PLANWRIGHT_CORE_VERIFY_FACTS_ASSIGNMENT_H_
#define PLANWRIGHT_CORE_VERIFY_FACTS_ASSIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/violations.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// Whether the workload leaves the operator out: BACKWARD operators of INFERENCE.
bool IsDropped(const Operator& op, Workload workload);

// Stages with operators, and the devices that run each.
struct Assignment {
  struct Stage {
    // Position in the placement as given, for paths.
    std::size_t given_index = 0;
    // The replicas in the order given; one without replication.
    std::vector<DeviceId> devices;
    // These replicas in the order of their all-reduce ring; empty without replication.
    std::vector<DeviceId> ring;
    // Ascending, without dropped ones; not empty.
    std::vector<OperatorId> operators;
  };
  static constexpr int32_t kNowhere = -1;

  std::vector<Stage> stages;
  // Position in `stages` of each operator; kNowhere for operators that take no part or are missing.
  std::vector<int32_t> stage_of;
  // Position of each operator in the list of its stage as given, for paths.
  std::vector<std::size_t> given_position;

  bool places(OperatorId op) const { return stage_of[op.index()] != kNowhere; }
  // REQUIRES: places(op).
  std::size_t stage_index(OperatorId op) const { return static_cast<std::size_t>(stage_of[op.index()]); }

  // "plan.stages[2]", "plan.stages[2].operators[0]". The operator is placed.
  std::string StagePath(std::size_t stage) const;
  std::string OperatorPath(OperatorId op) const;

  // Puts stage order[i] at position i. REQUIRES: a permutation.
  void Reorder(const std::vector<std::size_t>& order);
};

struct Structure {
  // What could be made out, where the structure is not whole.
  Assignment assignment;
  // Every operator that takes part is in exactly one stage, and every stage has distinct devices of one class that can
  // run its operators, one of them unless the problem replicates stages.
  bool is_whole = true;
};

// Builds the assignment and adds a violation, with a path into `placement`, for whatever keeps it from being whole.
// Stages keep their order; empty ones are left out.
// Complexity O(operators x replicas + cost entries).
Structure CheckStructure(const ResolvedInput& input, const Placement& placement, Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_FACTS_ASSIGNMENT_H_
