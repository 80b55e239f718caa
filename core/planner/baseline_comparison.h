// What simpler ways to run a graph reach, beside the plan that is searched for (device-placement, sections 6 and 7).
#ifndef PLANWRIGHT_CORE_PLANNER_BASELINE_COMPARISON_H_
#define PLANWRIGHT_CORE_PLANNER_BASELINE_COMPARISON_H_

#include <functional>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/model/plan.h"
#include "core/partition/search/search.h"

namespace planwright {

struct BaselineComparison {
  // Rows of Plan::baselines.
  std::vector<Baseline> baselines;
  // The best placement that the problem allows; empty: none.
  std::vector<SearchStart> starts;
};

// How placements are judged under a problem that differs from the request's.
using CallbacksFor = std::function<SearchCallbacks(const ResolvedProblem& problem)>;

// Runs the baselines that are cheap beside a search: a single device, data parallelism (also where the problem does not
// allow it, so that its price is known), PipeDream's stages where devices have links of their own and, for graphs of up
// to kMaxOperatorsForGreedy operators, greedy filling. `search` says what is to be planned, and with which settings;
// its starts are not looked at. O(operators + tensor ends) for each class of devices, times a logarithm for greedy
// filling.
BaselineComparison CompareBaselines(const SearchRequest& search, const SolveLimits& limits, TaskArena& arena,
                                    const CallbacksFor& callbacks_for);

inline constexpr std::size_t kMaxOperatorsForGreedy = 4096;

// A sentence for every baseline outside the constraints of the problem that is better than `objective`.
std::vector<std::string> BaselineWarnings(const std::vector<Baseline>& baselines, Picoseconds objective);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_BASELINE_COMPARISON_H_
