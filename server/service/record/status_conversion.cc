#include "server/service/record/status_conversion.h"

#include <array>

#include "server/engine/rpc_status.h"

namespace planwright::server {

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status rpc_status = ToRpcStatus(status, kMaxTrailerBytes);
  return {static_cast<grpc::StatusCode>(rpc_status.code()), rpc_status.message(), rpc_status.SerializeAsString()};
}

std::string CodeLabel(absl::StatusCode code) {
  static constexpr std::array<const char*, 17> kLabels = {
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  const auto index = static_cast<std::size_t>(code);
  return index < kLabels.size() ? kLabels[index] : "Unknown";
}

}  // namespace planwright::server
