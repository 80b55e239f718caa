// A request for a plan, read: what is to be searched for, and for how long.
#ifndef PLANWRIGHT_SERVER_ENGINE_TASK_PLAN_TASK_H_
#define PLANWRIGHT_SERVER_ENGINE_TASK_PLAN_TASK_H_

#include <memory>
#include <optional>
#include <string>

#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"
#include "planwright/v1/problem.pb.h"
#include "server/codec/problem.h"
#include "server/codec/shared_problem.h"

namespace planwright::server {

// Every name in it resolves and the options obey the rules; whether graph, cluster and problem do is for the planner to
// say.
struct PlanTask {
  std::shared_ptr<const OperatorGraph> graph;
  std::shared_ptr<const Cluster> cluster;
  PlanningProblem problem;
  DecodedOptions options;
  std::string graph_digest;
  std::string cluster_digest;
  // The problem with every default resolved.
  v1::PlanningProblem resolved_problem;
  // What is asked for, by the names of its devices (plan_key.h).
  std::string key;
  // Equal for whoever asks for as much of devices that are alike; where names matter, the task itself, without
  // `devices`. Plans are kept under its key.
  SharedProblem shared;
  std::string shared_key;
  // Search, whatever is known already.
  bool skip_cache = false;
  // Where the search begins, if not at a plan that is known to the cache.
  std::optional<Placement> start;
  // The plan is to be stored; under this id, or one that its content gives where it is empty.
  bool is_to_be_kept = false;
  std::string plan_id;
  // The caller chose it.
  bool is_named = false;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_TASK_PLAN_TASK_H_
