// One unary call to a server.
#ifndef PLANWRIGHT_CLIENT_LIBRARY_UNARY_CALL_H_
#define PLANWRIGHT_CLIENT_LIBRARY_UNARY_CALL_H_

#include <grpcpp/client_context.h>

#include <stop_token>

#include "absl/status/statusor.h"
#include "client/library/planning_client.h"
#include "client/library/wire_status.h"
#include "planwright/v1/planning_service.grpc.pb.h"

namespace planwright::client {

// Blocks until the answer is there, the deadline has passed or a stop is requested.
template <typename Stub, typename Response, typename Request>
absl::StatusOr<Response> Call(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                              const Request& request, const CallOptions& options) {
  grpc::ClientContext context;
  context.set_deadline(options.deadline);
  const std::stop_callback cancel(options.stop, [&context] { context.TryCancel(); });
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  if (!status.ok()) return ToAbslStatus(status);
  return response;
}

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LIBRARY_UNARY_CALL_H_
