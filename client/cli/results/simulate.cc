#include "client/cli/results/simulate.h"

#include <utility>

#include "client/report/json.h"

namespace planwright::client {

absl::StatusOr<Simulation> Simulate(PlanningClient& client, const v1::SimulatePlanRequest& request,
                                    const CallOptions& call) {
  Simulation simulation;
  const absl::Status status = client.SimulatePlan(request, call, [&simulation](v1::SimulatePlanResponse message) {
    if (message.has_summary()) simulation.summary = std::move(*message.mutable_summary());
    for (v1::SimulatedTask& task : *message.mutable_timeline()->mutable_tasks()) {
      *simulation.timeline.add_tasks() = std::move(task);
    }
  });
  if (!status.ok()) return status;
  return simulation;
}

std::string SimulationJson(const Simulation& simulation) {
  std::string text = "{\"summary\": " + JsonText(simulation.summary);
  if (!simulation.timeline.tasks().empty()) text += ", \"timeline\": " + JsonText(simulation.timeline);
  return text + "}\n";
}

}  // namespace planwright::client
