// Requests of the joint search for models and clusters of the zoo.
#ifndef PLANWRIGHT_TESTS_CORE_PLANNER_JOINT_JOINT_TEST_REQUEST_H_
#define PLANWRIGHT_TESTS_CORE_PLANNER_JOINT_JOINT_TEST_REQUEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/task_arena.h"
#include "core/base/violations.h"
#include "core/planner/planner.h"
#include "core/zoo/zoo.h"

namespace planwright {

struct JointTestRequest {
  OperatorGraph graph;
  Cluster cluster;
  PlanningProblem problem;
  SolverOptions options;
};

inline JointTestRequest RequestOf(const std::string& model, const std::string& cluster, int64_t global_batch) {
  JointTestRequest request{*MakeZooModel(model), *MakeZooCluster(cluster), {}, {}};
  request.graph.transformer = TransformerShapeOf(model);
  request.problem.joint.emplace().global_batch = global_batch;
  return request;
}

inline absl::StatusOr<Plan> Make(const JointTestRequest& request) {
  TaskArena arena(2);
  PlannerObserver observer;
  return MakePlan({request.graph, request.cluster, request.problem, request.options}, ModelLimits(), SolveLimits(),
                  arena, observer);
}

inline absl::StatusOr<Verdict> Judge(const JointTestRequest& request, const Placement& placement) {
  return EvaluatePlacement({request.graph, request.cluster, request.problem, request.options}, ModelLimits(),
                           placement);
}

inline std::vector<std::string> PathsOf(const absl::Status& status) {
  std::vector<std::string> paths;
  for (const Violation& violation : ViolationsOf(status)) paths.push_back(violation.path);
  return paths;
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_PLANNER_JOINT_JOINT_TEST_REQUEST_H_
