// Seeded random instances, small and rich in corner cases.
//
// A few operators and at most 5 devices: inference, training by backward times, training by BACKWARD operators (with
// orphans); colocation, operators that a class cannot run, operators and tensors that take no time, several tensors
// per producer and several consumers per tensor, memory that binds, one or two classes of accelerators, devices with
// reserved memory, host-staged and uniform interconnects, both memory models. Every instance is valid and supported;
// about a quarter has no plan.
#ifndef PLANWRIGHT_TESTS_SUPPORT_RANDOM_INSTANCE_H_
#define PLANWRIGHT_TESTS_SUPPORT_RANDOM_INSTANCE_H_

#include <cstdint>
#include <string>

#include "core/base/random.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

struct Instance {
  OperatorGraph graph;
  Cluster cluster;
  // As a client would pose it; ResolveProblem fills in the rest.
  PlanningProblem problem;
};

// Few enough operators for brute force.
inline constexpr int kBruteForceOperators = 10;

// The instance number `seed` with at most `max_operators` operators: the same on every machine.
// REQUIRES: max_operators >= 4.
Instance MakeRandomInstance(uint64_t seed, int max_operators = kBruteForceOperators);

// A placement that may break every rule but has the right structure: each operator that takes part in exactly one
// stage, each stage on one device of its own, stages in random order. Every second one cuts the graph into a pipeline
// and keeps most colocated operators together, so that feasible ones are common.
Placement MakeRandomPlacement(const Instance& instance, RandomStream& random);

// The instance as a listing of its graph, cluster and problem, to be read by the person who debugs it.
std::string Describe(const Instance& instance);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_RANDOM_INSTANCE_H_
