// grpc::Status -> absl::Status.
#ifndef PLANWRIGHT_CLIENT_LIBRARY_WIRE_STATUS_H_
#define PLANWRIGHT_CLIENT_LIBRARY_WIRE_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "client/library/error_details.h"

namespace planwright::client {

// With the details that ErrorDetailsOf reads. The codes of the two libraries are numerically equal.
inline absl::Status ToAbslStatus(const grpc::Status& status) {
  return WithErrorDetails(absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message()),
                          status.error_details());
}

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LIBRARY_WIRE_STATUS_H_
