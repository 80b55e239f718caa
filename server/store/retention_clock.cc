#include "server/store/retention_clock.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/strings.h"

namespace planwright::server {

void RetentionClock::LookAt(StoreTime now, int64_t most, int64_t longest) {
  const int64_t passed = now - seen;
  seen = now;
  if (passed > most) leaps.push_back({.at = now, .skipped = passed - most});
  // The clock goes back: so much of the last leaps was wrong.
  for (int64_t back = -passed; back > 0 && !leaps.empty();) {
    Leap& last = leaps.back();
    const int64_t taken = std::min(back, last.skipped);
    last.skipped -= taken;
    last.at -= taken;
    back -= taken;
    if (last.skipped == 0) leaps.pop_back();
  }
  const StoreTime cutoff = Cutoff(longest);
  std::erase_if(leaps, [cutoff](const Leap& leap) { return leap.at <= cutoff; });
}

StoreTime RetentionClock::Cutoff(int64_t retention) const {
  StoreTime time = seen;
  int64_t left = retention;
  for (auto leap = leaps.rbegin(); leap != leaps.rend() && time - leap->at < left; ++leap) {
    left -= time - leap->at;
    time = leap->at - leap->skipped;
  }
  return time - left;
}

std::string RetentionClock::Describe() const {
  return absl::StrJoin(leaps, " ",
                       [](std::string* text, const Leap& leap) { absl::StrAppend(text, leap.at, ":", leap.skipped); });
}

std::optional<RetentionClock> RetentionClock::Parse(std::string_view text, StoreTime seen) {
  RetentionClock clock{.seen = seen, .leaps = {}};
  for (const absl::string_view word : absl::StrSplit(ToAbsl(text), ' ', absl::SkipEmpty())) {
    const std::vector<absl::string_view> numbers = absl::StrSplit(word, ':');
    Leap& leap = clock.leaps.emplace_back();
    if (numbers.size() != 2 || !absl::SimpleAtoi(numbers[0], &leap.at)) return std::nullopt;
    if (!absl::SimpleAtoi(numbers[1], &leap.skipped) || leap.skipped <= 0) return std::nullopt;
  }
  return clock;
}

}  // namespace planwright::server
