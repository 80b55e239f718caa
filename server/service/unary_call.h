// One unary RPC from its arrival to its answer.
//
// gRPC's callback threads are few, so nothing is computed on them: the request arrives as bytes and is parsed, planned
// and encoded by a worker of the executor. Parsing it ourselves also makes bytes that are no message INVALID_ARGUMENT;
// gRPC would answer UNIMPLEMENTED.
#ifndef PLANWRIGHT_SERVER_SERVICE_UNARY_CALL_H_
#define PLANWRIGHT_SERVER_SERVICE_UNARY_CALL_H_

#include <google/protobuf/arena.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/service/call_services.h"
#include "server/service/rpc_record.h"
#include "server/service/search_log.h"
#include "server/service/status_conversion.h"

namespace planwright::server {

// Owns itself from Start until gRPC has sent the answer (OnDone). The worker finishes the call as its last act and
// touches nothing afterwards.
template <typename Request, typename Response>
class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  using Handler = std::function<absl::StatusOr<Response>(const Request&, const CallContext&)>;

  // `request` and `response` live until OnDone.
  UnaryCall(const CallServices& services, std::unique_ptr<RpcRecord> record,
            std::optional<Executor::Clock::time_point> deadline, const grpc::ByteBuffer& request,
            grpc::ByteBuffer& response, Handler handler)
      : services_(services),
        record_(std::move(record)),
        deadline_(deadline),
        request_(request),
        response_(response),
        handler_(std::move(handler)) {
    services_.in_flight.Enter();
  }

  // Queues the call, or answers it at once when the queue is full.
  grpc::ServerUnaryReactor* Start() {
    const absl::Status accepted =
        services_.executor.Submit({deadline_, stop_, [this](const absl::Status& admission) { Run(admission); }});
    if (!accepted.ok()) End(accepted);
    return this;
  }

  void OnCancel() override { stop_.request_stop(); }

  void OnDone() override {
    InFlight& in_flight = services_.in_flight;
    delete this;
    in_flight.Leave();
  }

 private:
  void Run(const absl::Status& admission) { End(admission.ok() ? Answer() : admission); }

  // Exceptions end here: gRPC would turn them into UNIMPLEMENTED.
  absl::Status Answer() {
    try {
      return Handle();
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("the request needs more memory than the server has");
    } catch (const std::exception& error) {
      return absl::InternalError(error.what());
    }
  }

  absl::Status Handle() {
    google::protobuf::Arena arena;
    Request& request = *google::protobuf::Arena::CreateMessage<Request>(&arena);
    grpc::ByteBuffer bytes = request_;
    if (!grpc::SerializationTraits<Request>::Deserialize(&bytes, &request).ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the message is no ", Request::descriptor()->full_name(), ", or a string in it is not UTF-8"));
    }
    SearchLog search_log(record_->request_id(), services_.metrics, services_.log);
    const std::stop_callback on_stop(stop_.get_token(), [&search_log] { search_log.OnStopRequested(); });
    ASSIGN_OR_RETURN(const Response response,
                     handler_(request, {.deadline = deadline_, .stop = stop_.get_token(), .observer = &search_log}));
    bool own_buffer = false;
    if (!grpc::SerializationTraits<Response>::Serialize(response, &response_, &own_buffer).ok()) {
      return absl::InternalError("the answer could not be encoded");
    }
    return absl::OkStatus();
  }

  void End(const absl::Status& status) {
    record_->SetStatus(status);
    record_.reset();
    Finish(ToGrpcStatus(status));
  }

  CallServices services_;
  std::unique_ptr<RpcRecord> record_;
  std::optional<Executor::Clock::time_point> deadline_;
  const grpc::ByteBuffer& request_;
  grpc::ByteBuffer& response_;
  Handler handler_;
  std::stop_source stop_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_UNARY_CALL_H_
