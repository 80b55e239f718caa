// One RegisterGraph from its first message to its answer.
#ifndef PLANWRIGHT_SERVER_SERVICE_METHODS_REGISTER_GRAPH_CALL_H_
#define PLANWRIGHT_SERVER_SERVICE_METHODS_REGISTER_GRAPH_CALL_H_

#include <grpcpp/alarm.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/service/call/call_services.h"
#include "server/service/call/call_start.h"
#include "server/serving/admission/uploads.h"

namespace planwright::server {

// Owns itself from Start until gRPC has sent the answer (OnDone). gRPC's threads only collect the messages; when the
// last one is there, a worker of the executor joins, checks and stores them. A client that sends nothing for a minute
// is cancelled.
class RegisterGraphCall final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  // `context` and `response` live until OnDone.
  RegisterGraphCall(const CallServices& services, CallStart start, grpc::CallbackServerContext& context,
                    grpc::ByteBuffer& response);

  // Begins to read, or answers at once when the call is not permitted.
  grpc::ServerReadReactor<grpc::ByteBuffer>* Start();

  void OnReadDone(bool ok) override;
  void OnCancel() override { stop_.request_stop(); }
  void OnDone() override;

 private:
  // The call, while others may end it: the alarm, and streams that it gives way to; shared with them.
  struct Patience {
    // gRPC may tell of the end of a call, OnDone, in the midst of Finish.
    std::recursive_mutex mutex;
    // nullptr: the call is over. Guarded by mutex.
    grpc::CallbackServerContext* context = nullptr;
    RegisterGraphCall* call = nullptr;
    // The messages are all there, or the call has been ended. Guarded by mutex.
    bool is_decided = false;
  };

  // Reads the next message, for which the client has a while.
  void Read();
  void Submit();
  // Whether the caller is the one that says how the call goes on.
  bool Decide();
  // End, unless that is decided already.
  void EndEarly(const absl::Status& status);
  absl::Status Handle();
  // The graph that the fragments make, which are gone afterwards.
  absl::StatusOr<v1::Graph> Join(v1::RegisterGraphRequest::Header& header);
  void End(const absl::Status& status);

  CallServices services_;
  // Its record ends with the call, whose last message may come after.
  CallStart start_;
  const std::string peer_;
  grpc::ByteBuffer& response_;
  std::stop_source stop_ = start_.stop;
  // The message that is being read, and those before it.
  grpc::ByteBuffer reading_;
  std::vector<grpc::ByteBuffer> messages_;
  int64_t bytes_ = 0;
  // The answer, until gRPC has sent it.
  UnsentAnswers::Hold unsent_;
  std::shared_ptr<Patience> patience_;
  Uploads::Stream stream_;
  std::optional<grpc::Alarm> alarm_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_METHODS_REGISTER_GRAPH_CALL_H_
