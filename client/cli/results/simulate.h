// SimulatePlan with all its messages collected, and its result in the formats of the program.
#ifndef PLANWRIGHT_CLIENT_CLI_RESULTS_SIMULATE_H_
#define PLANWRIGHT_CLIENT_CLI_RESULTS_SIMULATE_H_

#include "absl/status/statusor.h"
#include "client/library/planning_client.h"
#include "client/report/simulation_report.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// Errors: those of SimulatePlan.
absl::StatusOr<Simulation> Simulate(PlanningClient& client, const v1::SimulatePlanRequest& request,
                                    const CallOptions& call);

// {"summary": ..., "timeline": ...}, both in the protobuf JSON mapping; without a timeline only the former.
std::string SimulationJson(const Simulation& simulation);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_RESULTS_SIMULATE_H_
