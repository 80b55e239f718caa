#include "client/cli/terminal/time_limit.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace planwright::client {
namespace {

constexpr int64_t kDefaultTimeLimitSeconds = 60;

std::chrono::milliseconds ToChrono(const google::protobuf::Duration& duration) {
  constexpr int64_t kYearSeconds = int64_t{365} * 24 * 3600;
  return std::chrono::seconds(std::clamp<int64_t>(duration.seconds(), 0, kYearSeconds)) +
         std::chrono::milliseconds(std::max(duration.nanos(), 0) / 1'000'000);
}

void SetDuration(std::chrono::milliseconds time, google::protobuf::Duration& duration) {
  duration.set_seconds(time.count() / 1000);
  duration.set_nanos(static_cast<int32_t>(time.count() % 1000) * 1'000'000);
}

}  // namespace

std::optional<std::chrono::milliseconds> TimeLimitOf(const v1::CreatePlanRequest& request) {
  if (!request.options().has_time_limit()) return std::nullopt;
  return ToChrono(request.options().time_limit());
}

void SetTimeLimit(std::chrono::milliseconds limit, v1::CreatePlanRequest& request) {
  SetDuration(limit, *request.mutable_options()->mutable_time_limit());
}

CallOptions::Clock::time_point SettleTimeLimit(v1::CreatePlanRequest& request, std::chrono::milliseconds spent) {
  const bool was_stated = request.options().has_time_limit();
  google::protobuf::Duration& limit = *request.mutable_options()->mutable_time_limit();
  if (!was_stated) limit.set_seconds(kDefaultTimeLimitSeconds);
  const std::chrono::milliseconds stated = ToChrono(limit);
  if (was_stated && 20 * spent > stated) SetDuration(stated - std::min(spent, stated / 2), limit);
  return DeadlineFor(ToChrono(limit));
}

}  // namespace planwright::client
