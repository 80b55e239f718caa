// Why a plan is not better: what decides its objective, and what relief would bring.
#ifndef PLANWRIGHT_CORE_PLANNER_EXPLANATION_H_
#define PLANWRIGHT_CORE_PLANNER_EXPLANATION_H_

#include <string>

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/model/plan.h"
#include "core/partition/search/search.h"

namespace planwright {

// The busiest device of `plan`, how far the next one is behind, and the objectives that three changes would allow, each
// found by planning again from the plan itself: one more device of the busiest one's class (where the interconnect
// says how it is connected), twice the memory of that class, twice the bandwidth. Each search may do kReliefWork units
// of its algorithm's work, so objectives are what is reached at least, and the same on every run unless the clock cuts
// one off: then it and those after it are left out.
// MIN_DEVICES: only what is busy, not what relief would bring. `search` is what `plan` was made for and `solve` what
// made it. The cost is at most that of three searches.
Explanation ExplainPlan(const SearchRequest& search, SolveFunction solve, const Plan& plan, const SolveLimits& limits,
                        TaskArena& arena);

// Explanation::bottleneck of `plan`: the busiest device, the first of them, and what it spends its time on. Empty
// without devices.
std::string BottleneckOf(const Cluster& cluster, const Plan& plan);

// A fraction of a second for every algorithm.
inline constexpr int64_t kReliefWork = 1'000'000;

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_EXPLANATION_H_
