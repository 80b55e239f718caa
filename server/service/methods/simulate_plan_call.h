// One SimulatePlan from its arrival to its last message.
#ifndef PLANWRIGHT_SERVER_SERVICE_METHODS_SIMULATE_PLAN_CALL_H_
#define PLANWRIGHT_SERVER_SERVICE_METHODS_SIMULATE_PLAN_CALL_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <optional>
#include <stop_token>

#include "absl/status/status.h"
#include "server/engine/simulation_messages.h"
#include "server/service/call/call_services.h"
#include "server/service/call/call_start.h"
#include "server/service/methods/requests_with_plans.h"

namespace planwright::server {

// Owns itself from Start until gRPC has sent the last message (OnDone). A worker of the executor simulates and makes
// the first message; each further one is made when the one before has been taken, by a worker that serves, so that a
// slow reader holds up nobody and at most one message waits for it.
class SimulatePlanCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  // `request` lives until OnDone.
  SimulatePlanCall(const CallServices& services, CallStart start, const grpc::ByteBuffer& request);

  // Queues the call, or ends it at once when it is not permitted or the queue is full.
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Start();

  void OnWriteDone(bool ok) override;
  void OnCancel() override { stop_.request_stop(); }
  void OnDone() override;

 private:
  absl::Status Simulate(const RequestWithPlan<v1::SimulatePlanRequest>& request);
  // Sends the next message, if `status` is OK and there is one; else ends the call.
  void SendNext(absl::Status status);
  // Puts the next message into writing_; after the last, is_done_ is set.
  absl::Status PrepareNext();
  // Is called once; the call may be gone when it returns.
  void End(const absl::Status& status);

  CallServices services_;
  CallStart start_;
  const grpc::ByteBuffer& request_;
  std::stop_source stop_ = start_.stop;
  // Empty until the first message.
  std::optional<SimulationMessages> messages_;
  bool is_done_ = false;
  // The message in flight.
  grpc::ByteBuffer writing_;
  // What is simulated, with the message in flight, until gRPC has sent the last.
  UnsentAnswers::Hold unsent_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_METHODS_SIMULATE_PLAN_CALL_H_
