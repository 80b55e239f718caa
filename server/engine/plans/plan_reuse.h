// When a plan that was made for one request answers another one.
#ifndef PLANWRIGHT_SERVER_ENGINE_PLANS_PLAN_REUSE_H_
#define PLANWRIGHT_SERVER_ENGINE_PLANS_PLAN_REUSE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "planwright/v1/plan.pb.h"

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
  // `name` empty, provenance.cached false.
  v1::Plan plan;
  // What the search was given; where the clock or its caller cut it off, the time that it really had.
  SearchEffort effort;
  // PlanTask::key of the task that it was made or verified for.
  std::string key;
  // The devices that it could use, in the order that tasks with one shared form have in common
  // (SharedProblem::devices).
  std::vector<std::string> devices;
};

// Whether the plan is one that a search with effort `wanted` may answer with:
// - its gap is no wider than the one wanted (a proven plan satisfies everybody), or
// - its search had no wider gap and no smaller work limit, and ended by itself, or by the clock after no less time.
bool Satisfies(const CachedPlan& cached, const SearchEffort& wanted);

// Whether `fresh` is to take the place of `kept`, a plan for the same key: it is not the worse plan, and satisfies
// those who want as much as it was given itself.
bool Replaces(const CachedPlan& fresh, const CachedPlan& kept);

// `plan` as an answer about `graph` and `cluster`, which have the same operators and devices as those that it was made
// for: what the plan lists in the order of the graph or of the cluster is put into that of these two, and its problem
// becomes `problem`. REQUIRES: every name of the plan is one of theirs. Complexity O(n log n).
v1::Plan InOrderOf(const OperatorGraph& graph, const Cluster& cluster, const v1::PlanningProblem& problem,
                   v1::Plan plan);

// Calls each device of `from` by the name at its place in `to`, wherever a field is the name of a device. `problem`,
// digests and texts stay as they are: a name in a sentence is not told from a word of it. Resources of tasks, which
// may be two names in one text, become empty. REQUIRES: equally long lists. Complexity O(plan + devices).
void RenameDevices(const std::vector<std::string>& from, const std::vector<std::string>& to, v1::Plan& plan);

// Makes the texts of `plan` that may name devices anew, where its devices have been renamed. `fresh`: the same
// placement costed under the new names, whose warnings are the first of those of the plan; the others speak of the
// search and name no devices. Baselines without a plan lose the details of their reason.
void RenewTexts(const v1::Plan& fresh, const std::string& bottleneck, v1::Plan& plan);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_PLANS_PLAN_REUSE_H_
