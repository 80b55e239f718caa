// Collects the placements that a baseline makes: keeps the best one that the problem allows, and why it allows no
// other.
#ifndef PLANWRIGHT_CORE_PARTITION_BASELINES_PROPOSALS_H_
#define PLANWRIGHT_CORE_PARTITION_BASELINES_PROPOSALS_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/search/search.h"
#include "core/partition/search/search_record.h"

namespace planwright {

// One thread at a time.
class Proposals {
 public:
  // `name`: stable name of the baseline. Both outlive the object.
  Proposals(std::string_view name, const SearchRequest& request, const SearchCallbacks& callbacks);

  // Takes `placement` where nothing is objected to it and it is better than those before. Returns whether it was.
  bool Propose(Placement placement);
  // The baseline can make no placement, or one less; the first reason is kept. A sentence without a full stop.
  void Refuse(std::string_view reason);

  // The true objective of a feasible placement.
  Picoseconds Cost(const Placement& placement) const { return callbacks_.objective(placement); }
  SearchRecord& record() { return record_; }

  // The best placement; without one NO_PLAN_FOUND with the first reason, or why the search was cut off.
  absl::StatusOr<SearchOutcome> Finish() &&;

 private:
  const std::string name_;
  const SearchCallbacks& callbacks_;
  SearchRecord record_;
  std::string reason_;
};

// Runs `solve` on `request`, ranking placements by `objective`, and proposes what `translate` makes of its placement.
// Bounds are dropped and proofs of infeasibility are mere refusals: they speak of the changed problem.
void RunSubSearch(SolveFunction solve, const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                  Proposals& proposals, const std::function<Picoseconds(const Placement&)>& objective,
                  const std::function<Placement(Placement)>& translate);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_BASELINES_PROPOSALS_H_
