// One StreamPlan from its arrival to its last message.
#ifndef PLANWRIGHT_SERVER_SERVICE_METHODS_STREAM_PLAN_CALL_H_
#define PLANWRIGHT_SERVER_SERVICE_METHODS_STREAM_PLAN_CALL_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <stop_token>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/engine/task/search_observer.h"
#include "server/service/call/call_services.h"
#include "server/service/call/call_start.h"
#include "server/service/methods/outbox.h"

namespace planwright::server {

// Owns itself from Start until gRPC has sent the last message (OnDone). A serving thread reads it, and the search tells
// it of its events (plan_finder.h); gRPC's threads only move encoded messages from the outbox to the wire, as fast as
// the client reads.
class StreamPlanCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  // `request` lives until OnDone.
  StreamPlanCall(const CallServices& services, CallStart start, const grpc::ByteBuffer& request);

  // Queues the call, or ends it at once when it is not permitted or too many wait.
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Start();

  // Sends `event`, unless a later one of its kind overtakes it. Any thread; never waits.
  void Send(const v1::StreamPlanResponse& event);

  void OnWriteDone(bool ok) override;
  void OnCancel() override { stop_.request_stop(); }
  void OnDone() override;

 private:
  // Reads the request and asks for its plan.
  absl::Status Order();
  absl::Status Answer(absl::StatusOr<v1::Plan> plan);
  // Is called once; the call may be gone when it returns.
  void End(const absl::Status& status);
  void Take(Outbox::Step step);

  CallServices services_;
  CallStart start_;
  const grpc::ByteBuffer& request_;
  std::stop_source stop_ = start_.stop;
  // Sends what the search tells; set before the search.
  std::unique_ptr<SearchObserver> events_;
  Outbox outbox_;
  // The message in flight.
  OutgoingMessage writing_;
  // What the stream ends with; set before the outbox is closed.
  absl::Status status_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_METHODS_STREAM_PLAN_CALL_H_
