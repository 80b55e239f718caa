// What a request for a plan asks for, without the names of devices that are alike.
//
// Where an interconnect joins devices by structure (uniform, host_staged, hierarchy, nodes) their names do not matter,
// nor which of equal ones may be used: a plan for two devices of one host is one for two of another host, once its
// devices are renamed. The devices that may be used are put into a canonical order: as leaves of the tree that the
// interconnect makes of them, a leaf told by its class, its reserved memory and what the problem says of it, subtrees
// ordered by what is in them (Aho, Hopcroft and Ullman, The Design and Analysis of Computer Algorithms, 1974,
// section 3.2: isomorphism of trees), devices of a machine of `nodes` by what joins each two of them
// (canonical_order.h). Requests with the same shared form have the same plans, device for device in that order.
#ifndef PLANWRIGHT_SERVER_CODEC_SHARED_PROBLEM_H_
#define PLANWRIGHT_SERVER_CODEC_SHARED_PROBLEM_H_

#include <optional>
#include <string>
#include <vector>

#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"
#include "core/model/validator.h"
#include "planwright/v1/problem.pb.h"

namespace planwright::server {

struct SharedProblem {
  // The digest of what is left of the cluster; 64 hexadecimal digits.
  std::string cluster_digest;
  // Devices are called by their position in `devices`, from "0"; of devices_to_use only max_devices is left.
  v1::PlanningProblem problem;
  // Names of the devices that may be used, in their canonical order.
  std::vector<std::string> devices;
};

// `resolved`: `problem` with every default filled in, in its wire form. nullopt: names matter, because of the
// interconnect (grid, links, matrix), or because the problem speaks of devices that may not be used; also where cluster
// or selection break the rules. REQUIRES: ids in range. Complexity O(D log D) for D devices, plus the problem's lists;
// for nodes also what the order of each machine takes.
std::optional<SharedProblem> ShareProblem(const OperatorGraph& graph, const Cluster& cluster, const ModelLimits& limits,
                                          const PlanningProblem& problem, const v1::PlanningProblem& resolved);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CODEC_SHARED_PROBLEM_H_
