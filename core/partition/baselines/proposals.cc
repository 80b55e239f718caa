#include "core/partition/baselines/proposals.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planwright {

Proposals::Proposals(std::string_view name, const SearchRequest& request, const SearchCallbacks& callbacks)
    : name_(name), callbacks_(callbacks), record_(name, request.options.relative_gap, callbacks) {}

bool Proposals::Propose(Placement placement) {
  const std::string objection = callbacks_.objection(placement);
  if (objection.empty()) return record_.Offer(std::move(placement), name_);
  Refuse(objection);
  return false;
}

void Proposals::Refuse(std::string_view reason) {
  if (reason_.empty()) reason_ = reason;
}

absl::StatusOr<SearchOutcome> Proposals::Finish() && {
  const std::string reason = reason_.empty() ? "it found no placement" : reason_;
  return std::move(record_).Finish(
      absl::StrCat("the baseline ", name_, " makes no plan that the problem allows: ", reason));
}

void RunSubSearch(SolveFunction solve, const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                  Proposals& proposals, const std::function<Picoseconds(const Placement&)>& objective,
                  const std::function<Placement(Placement)>& translate) {
  SearchCallbacks callbacks;
  callbacks.objective = objective;
  SearchRecord& record = proposals.record();
  absl::StatusOr<SearchOutcome> found = solve(request, limits, arena, callbacks.Silenced());
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
