// absl::Status of core -> google.rpc.Status, whose details every client understands. The one place where errors cross
// the edge.
#ifndef PLANWRIGHT_SERVER_ENGINE_RPC_STATUS_H_
#define PLANWRIGHT_SERVER_ENGINE_RPC_STATUS_H_

#include <cstddef>
#include <limits>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"

namespace planwright::server {

// Code, message, and one google.rpc.ErrorInfo of domain "planwright" with a reason:
//   INVALID_ARGUMENT     INVALID_REQUEST (metadata: violations, their number), and BadRequest that lists them
//   NOT_FOUND            NOT_FOUND
//   FAILED_PRECONDITION  INFEASIBLE, and InfeasibleDetail; NO_STORE where the server keeps nothing
//   DEADLINE_EXCEEDED    NO_PLAN_FOUND where a search ended without plan and proof, else DEADLINE_EXCEEDED
//   RESOURCE_EXHAUSTED   SERVER_FULL, and RetryInfo, where trying again helps; else LIMIT_EXCEEDED
//   UNAVAILABLE          SHUTTING_DOWN, or STORE_UNAVAILABLE where the store does not work, and RetryInfo
//   any other code       its own name
// `max_bytes`: about how large the whole may become. A long message is cut and lists of violations or reasons end where
// the next entry would not fit. OK has no details.
google::rpc::Status ToRpcStatus(const absl::Status& status,
                                std::size_t max_bytes = std::numeric_limits<std::size_t>::max());

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_RPC_STATUS_H_
