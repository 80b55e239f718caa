#include "server/serving/admission/retry_delay.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace planwright::server {
namespace {

constexpr char kPayloadUrl[] = "planwright/retry_delay_ms";

}  // namespace

absl::Status WithRetryDelay(absl::Status status, std::chrono::milliseconds delay) {
  status.SetPayload(kPayloadUrl, absl::Cord(absl::StrCat(delay.count())));
  return status;
}

std::optional<std::chrono::milliseconds> RetryDelayOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayloadUrl);
  int64_t milliseconds = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &milliseconds)) return std::nullopt;
  return std::chrono::milliseconds(milliseconds);
}

}  // namespace planwright::server
