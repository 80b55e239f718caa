#include "client/library/error_details.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace planwright::client {
namespace {

constexpr char kTypeUrlPrefix[] = "type.googleapis.com/";

template <typename Detail>
std::optional<Detail> PayloadAs(const absl::Status& status) {
  const auto payload = status.GetPayload(absl::StrCat(kTypeUrlPrefix, Detail::descriptor()->full_name()));
  Detail detail;
  if (!payload.has_value() || !detail.ParseFromString(std::string(*payload))) return std::nullopt;
  return detail;
}

}  // namespace

ErrorDetails ErrorDetailsOf(const absl::Status& status) {
  ErrorDetails details;
  if (const auto info = PayloadAs<google::rpc::ErrorInfo>(status)) details.reason = info->reason();
  if (const auto bad_request = PayloadAs<google::rpc::BadRequest>(status)) {
    for (const auto& violation : bad_request->field_violations()) {
      details.violations.push_back({violation.field(), violation.description()});
    }
  }
  details.infeasible = PayloadAs<v1::InfeasibleDetail>(status);
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
  if (unlisted_count_ > 0) absl::StrAppend(&message, "\nand ", unlisted_count_, " more");
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(absl::StrCat(kTypeUrlPrefix, bad_request.GetTypeName()), absl::Cord(bad_request.SerializeAsString()));
  return status;
}

}  // namespace planwright::client
