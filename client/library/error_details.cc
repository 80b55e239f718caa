#include "client/library/error_details.h"

#include <iterator>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace planwright::client {
namespace {

constexpr char kTypeUrlPrefix[] = "type.googleapis.com/";
// Metadata of ErrorInfo: how many violations, and reasons why no plan exists, there are, listed or not.
constexpr char kViolationCount[] = "violations";
constexpr char kReasonCount[] = "reasons";
constexpr char kLimit[] = "limit";

template <typename Detail>
std::optional<Detail> PayloadAs(const absl::Status& status) {
  const auto payload = status.GetPayload(absl::StrCat(kTypeUrlPrefix, Detail::descriptor()->full_name()));
  Detail detail;
  if (!payload.has_value() || !detail.ParseFromString(std::string(*payload))) return std::nullopt;
  return detail;
}

template <typename Detail>
void SetPayload(const Detail& detail, absl::Status& status) {
  status.SetPayload(absl::StrCat(kTypeUrlPrefix, Detail::descriptor()->full_name()),
                    absl::Cord(detail.SerializeAsString()));
}

// Leaves `count` as it is when `info` has no larger number of this name.
void ReadCount(const google::rpc::ErrorInfo& info, const char* name, int64_t& count) {
  int64_t stated = 0;
  const auto entry = info.metadata().find(name);
  if (entry == info.metadata().end()) return;
  if (absl::SimpleAtoi(entry->second, &stated) && stated > count) count = stated;
}

}  // namespace

ErrorDetails ErrorDetailsOf(const absl::Status& status) {
  ErrorDetails details;
  if (const auto bad_request = PayloadAs<google::rpc::BadRequest>(status)) {
    for (const auto& violation : bad_request->field_violations()) {
      details.violations.push_back({violation.field(), violation.description()});
    }
  }
  details.violation_count = std::ssize(details.violations);
  details.infeasible = PayloadAs<v1::InfeasibleDetail>(status);
  if (details.infeasible.has_value()) details.infeasible_reason_count = details.infeasible->reasons_size();
  if (const auto info = PayloadAs<google::rpc::ErrorInfo>(status)) {
    details.reason = info->reason();
    ReadCount(*info, kViolationCount, details.violation_count);
    ReadCount(*info, kReasonCount, details.infeasible_reason_count);
    const auto limit = info->metadata().find(kLimit);
    if (limit != info->metadata().end()) details.limit = limit->second;
  }
  if (const auto retry = PayloadAs<google::rpc::RetryInfo>(status)) {
    details.retry_after =
        absl::Seconds(retry->retry_delay().seconds()) + absl::Nanoseconds(retry->retry_delay().nanos());
  }
  return details;
}

absl::Status WithErrorDetails(absl::Status status, std::string_view serialized_rpc_status) {
  google::rpc::Status rpc_status;
  if (!rpc_status.ParseFromArray(serialized_rpc_status.data(), static_cast<int>(serialized_rpc_status.size()))) {
    return status;
  }
  for (const google::protobuf::Any& detail : rpc_status.details()) {
    status.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
  return status;
}

void ViolationList::Add(std::string field, std::string description) {
  if (listed_.size() == kMaxListed) {
    ++unlisted_count_;
    return;
  }
  listed_.push_back({std::move(field), std::move(description)});
}

absl::Status ViolationList::ToStatus(std::string_view source) const {
  google::rpc::BadRequest bad_request;
  std::string message = absl::StrCat(std::string(source), " is invalid");
  for (const FieldViolation& violation : listed_) {
    auto* detail = bad_request.add_field_violations();
    detail->set_field(violation.field);
    detail->set_description(violation.description);
    absl::StrAppend(&message, "\n", violation.field, violation.field.empty() ? "" : ": ", violation.description);
  }
  if (unlisted_count_ > 0) absl::StrAppend(&message, "\n... and ", unlisted_count_, " more");
  google::rpc::ErrorInfo info;
  info.set_reason("INVALID_INPUT");
  info.set_domain("planwright");
  (*info.mutable_metadata())[kViolationCount] = absl::StrCat(listed_.size() + unlisted_count_);
  absl::Status status = absl::InvalidArgumentError(message);
  SetPayload(info, status);
  SetPayload(bad_request, status);
  return status;
}

}  // namespace planwright::client
