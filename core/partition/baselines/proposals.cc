#include "core/partition/baselines/proposals.h"

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

}  // namespace planwright
