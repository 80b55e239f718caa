#include "core/partition/baselines/sub_search.h"

#include <string>
#include <string_view>
#include <utility>

namespace planwright {

void RunSubSearch(SolveFunction solve, const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                  Proposals& proposals, const std::function<Picoseconds(const Placement&)>& objective,
                  const std::function<Placement(Placement)>& translate) {
  SearchCallbacks callbacks;
  callbacks.objective = objective;
  callbacks.on_phase = [](std::string_view) {};
  callbacks.on_bound = [](const Bound&) {};
  callbacks.on_incumbent = [](const SearchOutcome&, int64_t, std::string_view) {};
  SearchRecord& record = proposals.record();
  absl::StatusOr<SearchOutcome> found = solve(request, limits, arena, callbacks);
  record.set_stop_reason(StopReasonOf(limits, StopReason::kExhausted));
  if (!found.ok()) {
    proposals.Refuse(std::string(found.status().message()));
    return;
  }
  if (found->stop_reason == StopReason::kWorkLimit) record.set_stop_reason(StopReason::kWorkLimit);
  record.Adopt(*found);
  proposals.Propose(translate(std::move(found->placement)));
}

}  // namespace planwright
