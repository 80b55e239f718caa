// How long a search may take when it is asked for by a command.
#ifndef PLANWRIGHT_CLIENT_CLI_TERMINAL_TIME_LIMIT_H_
#define PLANWRIGHT_CLIENT_CLI_TERMINAL_TIME_LIMIT_H_

#include <chrono>
#include <optional>

#include "client/library/planning_client.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// At least 0 and at most about a year, so that a deadline follows from it; what is wrong with others the service says.
// nullopt: none is stated.
std::optional<std::chrono::milliseconds> TimeLimitOf(const v1::CreatePlanRequest& request);
void SetTimeLimit(std::chrono::milliseconds limit, v1::CreatePlanRequest& request);

// Gives `request` a time limit of 60 s where it has none. From a limit that was stated, `spent`, what its input has
// cost already, is taken away where it is more than a twentieth, but at most half: less is not worth a limit that
// differs from call to call, by which cached plans would be missed. Returns when an answer should have arrived.
CallOptions::Clock::time_point SettleTimeLimit(v1::CreatePlanRequest& request, std::chrono::milliseconds spent = {});

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_TERMINAL_TIME_LIMIT_H_
