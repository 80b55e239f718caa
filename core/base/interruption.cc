#include "core/base/interruption.h"

#include <optional>

#include "absl/strings/str_cat.h"

namespace planwright {
namespace {

// Some microseconds: a look costs a hundredth of that.
constexpr int64_t kUnitsPerLook = 1 << 11;

void Heed(const SolveLimits* limits) {
  internal::interruption_state = {limits, limits == nullptr ? std::numeric_limits<int64_t>::max() : kUnitsPerLook};
}

}  // namespace

absl::Status InterruptedError(Interruption why, const char* what) {
  if (why == Interruption::kCancelled) return absl::CancelledError(absl::StrCat("cancelled before ", what));
  return absl::DeadlineExceededError(absl::StrCat("the deadline passed before ", what, "; allow more time"));
}

InterruptionScope::InterruptionScope(const SolveLimits* limits) : outer_(Current()) { Heed(limits); }

InterruptionScope::~InterruptionScope() { Heed(outer_); }

const SolveLimits* InterruptionScope::Current() { return internal::interruption_state.limits; }

void internal::LookForInterruption() {
  const SolveLimits* const limits = InterruptionScope::Current();
  Heed(limits);
  if (limits == nullptr) return;
  const std::optional<Interruption> interruption = CheckInterruption(*limits);
  if (interruption.has_value()) throw Interrupted(*interruption);
}

}  // namespace planwright
