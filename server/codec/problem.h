// PlanningProblem and SolverOptions of the wire <-> those of core.
#ifndef PLANWRIGHT_SERVER_CODEC_PROBLEM_H_
#define PLANWRIGHT_SERVER_CODEC_PROBLEM_H_

#include <chrono>
#include <optional>

#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"
#include "planwright/v1/problem.pb.h"
#include "server/codec/field_path.h"

namespace planwright::server {

// Violations (below `path`, "problem" or "plan.problem"): times that are not finite or too long, unknown enum numbers,
// names that resolve to no operator or device.
PlanningProblem DecodeProblem(const v1::PlanningProblem& wire, const OperatorGraph& graph, const Cluster& cluster,
                              const FieldPath& path, Violations& violations);

// The inverse; every enum is written with a value other than UNSPECIFIED where it has one. REQUIRES: ids in range.
v1::PlanningProblem EncodeProblem(const PlanningProblem& problem, const OperatorGraph& graph, const Cluster& cluster);

// `problem` as plans state it, every default filled in (ResolveProblem, WithJointDefaults).
v1::PlanningProblem EncodeResolved(const PlanningProblem& problem, const OperatorGraph& graph, const Cluster& cluster);

// `wire` as plans state their problem: every default filled in, those of fields that it does not know
// of included. nullopt: it does not speak of this graph and cluster.
std::optional<v1::PlanningProblem> ResolvedForm(const v1::PlanningProblem& wire, const OperatorGraph& graph,
                                                const Cluster& cluster);

// SolverOptions and the part of them that core knows as SolveLimits.
struct DecodedOptions {
  SolverOptions options;
  std::optional<std::chrono::nanoseconds> time_limit;
};

// Violations (paths below "options"): unknown enum numbers, a time limit that is negative or no valid Duration.
DecodedOptions DecodeOptions(const v1::SolverOptions& wire, Violations& violations);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CODEC_PROBLEM_H_
