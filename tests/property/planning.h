// What the property tests of the planner share.
#ifndef PLANWRIGHT_TESTS_PROPERTY_PLANNING_H_
#define PLANWRIGHT_TESTS_PROPERTY_PLANNING_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <variant>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/planner/algorithms/capabilities.h"
#include "core/planner/planner.h"
#include "tests/property/cases.h"
#include "tests/support/random_instance.h"

namespace planwright {

inline absl::StatusOr<Plan> MakePlanOf(const Instance& instance, const SolverOptions& options = SolverOptions(),
                                       SolveLimits limits = SolveLimits(), int threads = 1) {
  // As the service does it.
  limits.work = options.work_limit.value_or(limits.work);
  TaskArena arena(threads);
  PlannerObserver observer;
  return MakePlan({instance.graph, instance.cluster, instance.problem, options}, ModelLimits(), limits, arena,
                  observer);
}

inline bool IsHostStaged(const Instance& instance) {
  return std::holds_alternative<HostStagedInterconnect>(instance.cluster.interconnect);
}

inline bool IsSupported(const Instance& instance, const SolverOptions& options) {
  Violations refusals;
  CheckSupported(instance.graph, instance.cluster, instance.problem, options, refusals);
  return refusals.empty();
}

// Calls check(instance, seed) until the first failure, which the trace then describes in full.
template <typename Check>
void ForEachInstance(uint64_t count, int max_operators, const Check& check) {
  for (uint64_t seed = 0; seed < count && !::testing::Test::HasFailure(); ++seed) {
    const Instance instance = MakeRandomInstance(seed, max_operators);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(instance));
    check(instance, seed);
  }
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_PROPERTY_PLANNING_H_
