// One unary RPC from its arrival to its answer; its work is done by the executor (call_messages.h says why).
#ifndef PLANWRIGHT_SERVER_SERVICE_CALL_UNARY_CALL_H_
#define PLANWRIGHT_SERVER_SERVICE_CALL_UNARY_CALL_H_

#include <google/protobuf/arena.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "server/engine/task/without_exceptions.h"
#include "server/service/call/call_messages.h"
#include "server/service/call/resource_of.h"
#include "server/service/call/unary_reactor.h"
#include "server/service/record/search_log.h"

namespace planwright::server {

// Owns itself from Start until gRPC has sent the answer (OnDone). The worker finishes the call as its last act and
// touches nothing afterwards.
template <typename Request, typename Response>
class UnaryCall final : public UnaryReactor {
 public:
  using Handler = std::function<absl::StatusOr<Response>(const Request&, const CallContext&)>;

  // `executor`: one of `services`. `request` and `response` live until OnDone.
  UnaryCall(const CallServices& services, Executor& executor, CallStart start, const grpc::ByteBuffer& request,
            grpc::ByteBuffer& response, Handler handler)
      : UnaryReactor(services, std::move(start), request, response),
        executor_(executor),
        handler_(std::move(handler)) {}

  // Queues the call, or answers it at once when it is not permitted or the queue is full.
  grpc::ServerUnaryReactor* Start() {
    if (!start_.permitted.ok()) {
      End(start_.permitted);
      return this;
    }
    const absl::Status accepted = executor_.Submit({.deadline = start_.deadline,
                                                    .stop = stop_,
                                                    .run = [this](const absl::Status& admission) { Run(admission); },
                                                    .bytes = static_cast<int64_t>(request_.Length()),
                                                    .tenant = start_.caller.tenant});
    if (!accepted.ok()) End(accepted);
    return this;
  }

 private:
  void Run(const absl::Status& admission) {
    End(admission.ok() ? WithoutExceptions([this] { return Handle(); }) : admission);
  }

  absl::Status Handle() {
    google::protobuf::Arena arena;
    Request& request = *google::protobuf::Arena::CreateMessage<Request>(&arena);
    MemoryAccount::Hold unpacked(services_.unpacked);
    RETURN_IF_ERROR(ReadMessage(request_, services_.engine.model_limits(), unpacked, request));
    start_.record->SetRunning();
    start_.record->SetResource(ResourceOf(request));
    SearchLog search_log(start_.record->search_origin(), services_.metrics, services_.log, services_.slow_search);
    const std::stop_callback on_stop(stop_.get_token(), [&search_log] { search_log.OnStopRequested(); });
    ASSIGN_OR_RETURN(const Response response, handler_(request, {.deadline = start_.deadline,
                                                                 .stop = stop_.get_token(),
                                                                 .observer = &search_log,
                                                                 .tenant = start_.caller.tenant}));
    if (const std::string resource = ResourceOf(response); !resource.empty()) start_.record->SetResource(resource);
    return SetAnswer(response);
  }

  Executor& executor_;
  Handler handler_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_CALL_UNARY_CALL_H_
