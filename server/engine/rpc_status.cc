#include "server/engine/rpc_status.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/base/strings.h"
#include "core/base/violations.h"
#include "core/text/utf8.h"
#include "google/rpc/error_details.pb.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/engine/library/library.h"
#include "server/serving/admission/retry_delay.h"
#include "server/store/database/store_status.h"

namespace planwright::server {
namespace {

// Type URLs and the ErrorInfo.
constexpr std::size_t kFrameBytes = 300;
// How long it takes until a store that does not answer may have come back.
constexpr std::chrono::milliseconds kStoreRetryDelay{1000};
// What one violation may take in a message, whatever the limit.
constexpr std::size_t kMinLineBytes = 400;

std::string ReasonOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return "INVALID_REQUEST";
    case absl::StatusCode::kFailedPrecondition:
      if (IsStoreMissing(status)) return "NO_STORE";
      return InfeasibilityOf(status).has_value() ? "INFEASIBLE" : "FAILED_PRECONDITION";
    case absl::StatusCode::kDeadlineExceeded:
      return IsNoPlanFound(status) ? "NO_PLAN_FOUND" : "DEADLINE_EXCEEDED";
    case absl::StatusCode::kResourceExhausted:
      return RetryDelayOf(status).has_value() ? "SERVER_FULL" : "LIMIT_EXCEEDED";
    case absl::StatusCode::kUnavailable:
      return IsStoreUnavailable(status) ? "STORE_UNAVAILABLE" : "SHUTTING_DOWN";
    default:
      return absl::StatusCodeToString(status.code());
  }
}

// Returns the limit as the request calls it; nullopt: none was spent.
std::optional<std::string> LimitName(SpentLimit limit) {
  switch (limit) {
    case SpentLimit::kNone:
      return std::nullopt;
    case SpentLimit::kTime:
      return "time_limit";
    case SpentLimit::kWork:
      return "work_limit";
  }
  return std::nullopt;
}

// Returns at most `max_bytes` of `text`, not cut inside a character.
std::string Shorten(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  return absl::StrCat(ToAbsl(FirstBytes(text, max_bytes)), "...");
}

// The violations, one a line, until `max_bytes` are filled, and how many more there are. At least one.
std::string ViolationsMessage(const std::vector<Violation>& violations, std::size_t count, std::size_t max_bytes) {
  std::string message;
  std::size_t shown = 0;
  for (const Violation& violation : violations) {
    const std::string line = absl::StrCat(shown == 0 ? "" : "\n", violation.path, ": ", violation.rule);
    if (shown > 0 && message.size() + line.size() > max_bytes) break;
    absl::StrAppend(&message, Shorten(line, std::max(max_bytes, kMinLineBytes)));
    ++shown;
  }
  if (shown < count) absl::StrAppend(&message, "\n... and ", count - shown, " more");
  return message;
}

// Appends `entry` to the list `field` unless that takes the message beyond `max_bytes`; false: it did not fit.
template <typename Message, typename Entry>
bool AppendIfFits(Entry entry, std::size_t max_bytes, Message& message,
                  google::protobuf::RepeatedPtrField<Entry>* (Message::*field)()) {
  if (message.ByteSizeLong() + entry.ByteSizeLong() > max_bytes) return false;
  *(message.*field)()->Add() = std::move(entry);
  return true;
}

google::rpc::BadRequest MakeBadRequest(const std::vector<Violation>& violations, std::size_t max_bytes) {
  google::rpc::BadRequest bad_request;
  for (const Violation& violation : violations) {
    google::rpc::BadRequest::FieldViolation entry;
    entry.set_field(violation.path);
    entry.set_description(violation.rule);
    if (!AppendIfFits(std::move(entry), max_bytes, bad_request, &google::rpc::BadRequest::mutable_field_violations)) {
      break;
    }
  }
  return bad_request;
}

v1::InfeasibleDetail MakeInfeasibleDetail(const Infeasibility& infeasibility, std::size_t max_bytes) {
  v1::InfeasibleDetail detail;
  detail.set_minimum_devices(infeasibility.minimum_devices);
  for (const Shortage& shortage : infeasibility.shortages) {
    v1::InfeasibleDetail::Reason reason;
    reason.set_resource(shortage.resource);
    reason.set_subject(shortage.subject);
    reason.set_needed_bytes(shortage.needed_bytes);
    reason.set_available_bytes(shortage.available_bytes);
    reason.set_description(shortage.description);
    if (!AppendIfFits(std::move(reason), max_bytes, detail, &v1::InfeasibleDetail::mutable_reasons)) break;
  }
  return detail;
}

google::rpc::RetryInfo MakeRetryInfo(std::chrono::milliseconds delay) {
  google::rpc::RetryInfo retry;
  *retry.mutable_retry_delay() = google::protobuf::util::TimeUtil::MillisecondsToDuration(delay.count());
  return retry;
}

}  // namespace

google::rpc::Status ToRpcStatus(const absl::Status& status, std::size_t max_bytes) {
  google::rpc::Status rpc_status;
  rpc_status.set_code(static_cast<int>(status.code()));
  if (status.ok()) return rpc_status;
  const std::vector<Violation> violations = ViolationsOf(status);
  const std::size_t violation_count = violations.size() + UnlistedViolationsOf(status);
  rpc_status.set_message(violations.empty() ? Shorten(ToStd(status.message()), max_bytes / 8)
                                            : ViolationsMessage(violations, violation_count, max_bytes / 32));
  google::rpc::ErrorInfo info;
  info.set_domain("planwright");
  info.set_reason(ReasonOf(status));
  if (!violations.empty()) (*info.mutable_metadata())["violations"] = absl::StrCat(violation_count);
  const auto infeasibility = InfeasibilityOf(status);
  if (infeasibility.has_value()) {
    (*info.mutable_metadata())["reasons"] =
        absl::StrCat(static_cast<int64_t>(infeasibility->shortages.size()) + infeasibility->unlisted);
  }
  if (const auto limit = LimitName(SpentLimitOf(status))) (*info.mutable_metadata())["limit"] = *limit;
  rpc_status.add_details()->PackFrom(info);
  // A message travels twice, once of these with up to three bytes for one.
  const std::size_t max_list_bytes = max_bytes - std::min(max_bytes, 4 * rpc_status.message().size() + kFrameBytes);
  if (!violations.empty()) rpc_status.add_details()->PackFrom(MakeBadRequest(violations, max_list_bytes));
  if (infeasibility.has_value()) {
    rpc_status.add_details()->PackFrom(MakeInfeasibleDetail(*infeasibility, max_list_bytes));
  }
  if (IsStoreUnavailable(status)) rpc_status.add_details()->PackFrom(MakeRetryInfo(kStoreRetryDelay));
  if (const auto delay = RetryDelayOf(status)) rpc_status.add_details()->PackFrom(MakeRetryInfo(*delay));
  return rpc_status;
}

}  // namespace planwright::server
