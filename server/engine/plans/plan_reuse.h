// When a plan that was made for one request answers another one.
#ifndef PLANWRIGHT_SERVER_ENGINE_PLANS_PLAN_REUSE_H_
#define PLANWRIGHT_SERVER_ENGINE_PLANS_PLAN_REUSE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/plan.h"

namespace planwright::server {

// How hard a search tries, apart from what it searches for (plan_key.h).
struct SearchEffort {
  // Until the clock ends it.
  std::chrono::nanoseconds time{0};
  // nullopt: what the algorithm itself thinks is enough.
  std::optional<int64_t> work_limit;
  // Not only when it ends: the searches within a search may be content with as much.
  double relative_gap = 0;
};

// A plan that was searched for and verified.
struct CachedPlan {
  // By the numbers that every task with its shared form has for operators and devices (plan_numbering.h).
  Plan plan;
  // What the search was given; where the clock or its caller cut it off, the time that it really had.
  SearchEffort effort;
  // Of the task that it was made or verified for, of whose devices its texts speak.
  std::string key;
  // The names of these devices, in the order that tasks with one shared form have in common (SharedProblem::devices).
  std::vector<std::string> devices;
};

// Estimate of the bytes that it holds.
int64_t BytesOf(const CachedPlan& cached);

// Whether the plan is one that a search with effort `wanted` may answer with:
// - its gap is no wider than the one wanted (a proven plan satisfies everybody), or
// - its search had no wider gap and no smaller work limit, and ended by itself, or by the clock after no less time.
bool Satisfies(const CachedPlan& cached, const SearchEffort& wanted);

// Whether `fresh` is to take the place of `kept`, a plan for the same key: it is not the worse plan, and satisfies
// those who want as much as it was given itself.
bool Replaces(const CachedPlan& fresh, const CachedPlan& kept);

// Makes the texts of `plan` that may name devices anew, where its devices have other names now. `fresh`: the same
// placement costed under these, whose warnings are the first of those of the plan; the others speak of the search and
// name no devices. Baselines without a plan lose the details of their reason.
void RenewTexts(const Plan& fresh, const std::string& bottleneck, Plan& plan);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_PLANS_PLAN_REUSE_H_
