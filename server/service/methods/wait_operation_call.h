// One WaitOperation from its arrival to its answer.
#ifndef PLANWRIGHT_SERVER_SERVICE_METHODS_WAIT_OPERATION_CALL_H_
#define PLANWRIGHT_SERVER_SERVICE_METHODS_WAIT_OPERATION_CALL_H_

#include <grpcpp/alarm.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <mutex>
#include <stop_token>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/service/call/call_services.h"
#include "server/service/call/call_start.h"

namespace planwright::server {

// Owns itself from Start until gRPC has sent the answer (OnDone). It asks the store again and again, less and less
// often, because another server may run the operation; in between it holds no thread.
class WaitOperationCall final : public grpc::ServerUnaryReactor {
 public:
  // `request` and `response` live until OnDone.
  WaitOperationCall(const CallServices& services, CallStart start, const grpc::ByteBuffer& request,
                    grpc::ByteBuffer& response);

  // Asks for the first time, or answers at once when the call is not permitted.
  grpc::ServerUnaryReactor* Start();

  void OnCancel() override;
  void OnDone() override;

 private:
  using Clock = std::chrono::steady_clock;

  void Submit();
  void Run(const absl::Status& admission);
  // Whether the answer is there; otherwise the alarm is set.
  absl::StatusOr<bool> Look();
  // Reads the request and says until when to wait.
  absl::Status Read();
  void Sleep();
  void End(const absl::Status& status);

  CallServices services_;
  CallStart start_;
  const grpc::ByteBuffer& bytes_;
  grpc::ByteBuffer& response_;
  std::stop_source stop_ = start_.stop;
  // Keeps setting and ringing the alarm apart.
  std::mutex mutex_;
  v1::WaitOperationRequest request_;
  // What the request takes.
  MemoryAccount::Hold unpacked_{services_.unpacked};
  bool is_read_ = false;
  Clock::time_point until_;
  std::chrono::milliseconds pause_;
  grpc::Alarm alarm_;
  // The answer, until gRPC has sent it.
  UnsentAnswers::Hold unsent_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_METHODS_WAIT_OPERATION_CALL_H_
