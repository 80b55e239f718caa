// How long a search may take when it is asked for by a command.
#ifndef PLANWRIGHT_CLIENT_CLI_TIME_LIMIT_H_
#define PLANWRIGHT_CLIENT_CLI_TIME_LIMIT_H_

#include "client/library/planning_client.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// Gives `request` a time limit of 60 s where it has none. Returns when an answer to it should have arrived.
CallOptions::Clock::time_point SettleTimeLimit(v1::CreatePlanRequest& request);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_TIME_LIMIT_H_
