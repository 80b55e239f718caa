// One BatchCreatePlans from its arrival to its answer.
#ifndef PLANWRIGHT_SERVER_SERVICE_BATCH_PLAN_CALL_H_
#define PLANWRIGHT_SERVER_SERVICE_BATCH_PLAN_CALL_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <stop_token>

#include "absl/status/status.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/engine/batch_planning.h"
#include "server/service/call_services.h"
#include "server/service/call_start.h"
#include "server/service/search_log.h"

namespace planwright::server {

// Owns itself from Start until gRPC has sent the answer (OnDone). Plans one problem each time that a worker takes it
// and queues behind the others again, so a batch delays nobody longer than one of its problems does.
class BatchPlanCall final : public grpc::ServerUnaryReactor {
 public:
  // `request` and `response` live until OnDone.
  BatchPlanCall(const CallServices& services, CallStart start, const grpc::ByteBuffer& request,
                grpc::ByteBuffer& response);

  // Queues the call, or answers it at once when it is not permitted or the queue is full.
  grpc::ServerUnaryReactor* Start();

  void OnCancel() override { stop_.request_stop(); }
  void OnDone() override;

 private:
  Executor::Job Job();
  void Run(const absl::Status& admission);
  // Plans the next problem, after reading the request the first time.
  absl::Status Step();
  absl::Status Read();
  // Once; the call may be gone when it returns.
  void End(const absl::Status& status);

  CallServices services_;
  CallStart start_;
  const grpc::ByteBuffer& bytes_;
  grpc::ByteBuffer& response_;
  std::stop_source stop_;
  v1::BatchCreatePlansRequest request_;
  // Empty until the first step.
  std::unique_ptr<BatchPlanning> batch_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_BATCH_PLAN_CALL_H_
