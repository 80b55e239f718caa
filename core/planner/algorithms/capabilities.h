// Which problems this version plans, and by what, as the rows of its algorithms say.
//
// A problem is supported when one capability allows every one of its settings. What none covers is refused with the
// paths of the settings that rule out the one which comes closest; nothing is silently ignored.
#ifndef PLANWRIGHT_CORE_PLANNER_ALGORITHMS_CAPABILITIES_H_
#define PLANWRIGHT_CORE_PLANNER_ALGORITHMS_CAPABILITIES_H_

#include <span>
#include <vector>

#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"
#include "core/partition/search/algorithm_row.h"

namespace planwright {

// Modes that are planned, and by which algorithms.
struct Capability {
  Modes modes;
  // All can be asked for. Those that AUTO takes go before the others.
  std::vector<Algorithm> algorithms;
};

// Every mode of the rows of Algorithms() once.
std::span<const Capability> Capabilities();

// Adds a violation, with "problem.", "options." or "cluster.interconnect" paths, for every setting that this version
// does not support, "CHIMERA is not supported by this version; supported: unspecified, GPIPE, ...", and for every one
// that does not go with others: "NON_CONTIGUOUS does not go with problem.schedule GPIPE in this version; supported with
// it: CONTIGUOUS". Graph and cluster are valid.
void CheckSupported(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                    const SolverOptions& options, Violations& violations);

// As CheckSupported, for judging a placement that anyone made: every mode that core/cost and core/verify know, whether
// a search plans it or not.
void CheckJudged(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                 Violations& violations);

// What runs, one after the other: options.algorithm, or what AUTO stands for: every algorithm that it takes for the
// problem and that heeds all of its settings, in the order of Algorithms().
// REQUIRES: CheckSupported found nothing.
std::vector<Algorithm> AlgorithmsInTurn(const Cluster& cluster, const ResolvedProblem& problem,
                                        const SolverOptions& options);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_ALGORITHMS_CAPABILITIES_H_
