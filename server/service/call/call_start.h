// What is known of a call before its request is read.
#ifndef PLANWRIGHT_SERVER_SERVICE_CALL_CALL_START_H_
#define PLANWRIGHT_SERVER_SERVICE_CALL_CALL_START_H_

#include <memory>
#include <optional>
#include <stop_token>

#include "absl/status/status.h"
#include "server/service/record/rpc_record.h"
#include "server/serving/admission/executor.h"
#include "server/serving/admission/unsent_answers.h"
#include "server/serving/callers/caller.h"

namespace planwright::server {

struct CallStart {
  std::unique_ptr<RpcRecord> record;
  // nullopt: the client waits for as long as it takes.
  std::optional<Executor::Clock::time_point> deadline;
  Caller caller;
  // Whether the caller may make this call: OK, UNAUTHENTICATED or PERMISSION_DENIED.
  absl::Status permitted;
  // Ends the call from outside, whatever it does.
  UnsentAnswers::GiveUp give_up;
  // How administrators end the call (CallRegistry); what the call itself stops by, so it is one with that.
  std::stop_source stop;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_CALL_CALL_START_H_
