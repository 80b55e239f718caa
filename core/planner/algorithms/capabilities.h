// Which problems this version plans, and by what: docs/cost-model.md section 11 as data.
//
// A problem is supported when one row allows every one of its settings. What no row covers is refused with the paths of
// the settings that rule out the row which comes closest; nothing is silently ignored.
#ifndef PLANWRIGHT_CORE_PLANNER_ALGORITHMS_CAPABILITIES_H_
#define PLANWRIGHT_CORE_PLANNER_ALGORITHMS_CAPABILITIES_H_

#include <span>
#include <string_view>
#include <vector>

#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

struct Capability {
  std::vector<Objective> objectives;
  // As in InterconnectName.
  std::vector<std::string_view> interconnects;
  std::vector<ScheduleKind> schedules;
  std::vector<Replication> replications;
  std::vector<Split> splits;
  std::vector<Overlap> overlaps;
  // Whether problem.micro_batches is set; false: it is the limit of many.
  bool counts_micro_batches = false;
  // The first one is among what AUTO takes, unless it is a baseline or the integer program; all can be asked for.
  std::vector<Algorithm> algorithms;
  std::string_view description;
};

struct AlgorithmInfo {
  Algorithm algorithm;
  // Stable name: Provenance::algorithm.
  std::string_view name;
  // Changes whenever the same request may give another plan.
  std::string_view version;
  std::string_view description;
  std::string_view work_unit;
};

std::span<const Capability> Capabilities();
std::span<const AlgorithmInfo> Algorithms();
// "ideal_dp"; empty for kAuto.
std::string_view StableNameOf(Algorithm algorithm);

// Adds a violation, with "problem.", "options." or "cluster.interconnect" paths, for every setting that this version
// does not support, "CHIMERA is not supported by this version; supported: unspecified, GPIPE, ...", and for every one
// that does not go with others: "NON_CONTIGUOUS does not go with problem.schedule GPIPE in this version; supported with
// it: CONTIGUOUS". `problem` need not be resolved; graph and cluster are valid.
void CheckSupported(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                    const SolverOptions& options, Violations& violations);

// The same for judging a placement that anyone made: every mode that core/cost and core/verify know, whether a search
// plans it or not.
void CheckJudged(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                 Violations& violations);

// What runs, one after the other: options.algorithm, or what AUTO stands for: of every row that plans the problem the
// first algorithm, where it heeds all settings; exact ones first, those that take whatever time is left last.
// REQUIRES: CheckSupported found nothing.
std::vector<Algorithm> AlgorithmsInTurn(const OperatorGraph& graph, const Cluster& cluster,
                                        const PlanningProblem& problem, const SolverOptions& options);

// Whether the search heeds SearchRequest::device_limits; others are given sets of devices (device_choices.h).
bool HeedsDeviceLimits(Algorithm algorithm);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_ALGORITHMS_CAPABILITIES_H_
