// Plans by numbers that do not depend on who asks.
#ifndef PLANWRIGHT_SERVER_ENGINE_PLANS_PLAN_NUMBERING_H_
#define PLANWRIGHT_SERVER_ENGINE_PLANS_PLAN_NUMBERING_H_

#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"

namespace planwright::server {

// What two requests for the same have in common although their lists are in another order, and their devices have other
// names: an operator's number is its place among all operators by name, a device's its place in the list that requests
// with one shared form agree on.
struct Numbering {
  // By number.
  std::vector<OperatorId> operators;
  std::vector<DeviceId> devices;
  // The two directions of a link are links of their own (HasDirectedLinks).
  bool has_directed_links = false;
};

// `devices`: names in the order that requests agree on (SharedProblem::devices); empty: all of the cluster by name.
// REQUIRES: no two operators or devices have one name, and the cluster has those that are listed.
// Complexity O((operators + devices) log).
Numbering NumberingOf(const OperatorGraph& graph, const Cluster& cluster, const std::vector<std::string>& devices,
                      bool has_directed_links);

// `plan` with numbers where it has ids. Of its problem there is left what its schedule repeats, because the rest speaks
// of ids or belongs to whoever asks; its texts stay as they are. REQUIRES: its operators and devices have numbers.
Plan WithNumbers(Plan plan, const Numbering& numbering);

// The inverse, but for the problem: every list in the order of the request's own graph and cluster.
Plan WithIds(Plan plan, const Numbering& numbering);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_PLANS_PLAN_NUMBERING_H_
