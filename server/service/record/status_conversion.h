// absl::Status -> grpc::Status with google.rpc.Status details (server/engine/rpc_status.h says which).
#ifndef PLANWRIGHT_SERVER_SERVICE_RECORD_STATUS_CONVERSION_H_
#define PLANWRIGHT_SERVER_SERVICE_RECORD_STATUS_CONVERSION_H_

#include <grpcpp/support/status.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"

namespace planwright::server {

// Message and details travel in the trailing metadata, of which a gRPC client takes 8 KiB unless it asks for more; a
// longer trailer would reach it as RESOURCE_EXHAUSTED.
inline constexpr std::size_t kMaxTrailerBytes = 7600;

grpc::Status ToGrpcStatus(const absl::Status& status);

// The name of a code as gRPC metrics spell it: "OK", "InvalidArgument".
std::string CodeLabel(absl::StatusCode code);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_RECORD_STATUS_CONVERSION_H_
