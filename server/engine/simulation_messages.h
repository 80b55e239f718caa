// The messages of one SimulatePlan, made when they are wanted.
#ifndef PLANWRIGHT_SERVER_ENGINE_SIMULATION_MESSAGES_H_
#define PLANWRIGHT_SERVER_ENGINE_SIMULATION_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/planner/plan_simulation.h"
#include "core/simulate/task_graph.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::server {

// A timeline can be hundreds of megabytes, so whoever sends it asks for one message after the other. Not thread-safe,
// but successive calls may come from different threads.
class SimulationMessages {
 public:
  // Without the timeline, only the summary.
  SimulationMessages(PlanSimulation simulation, int64_t samples_per_micro_batch, bool with_timeline);

  // The summary, then parts of the timeline of at most 1 MiB; nullopt after the last.
  std::optional<v1::SimulatePlanResponse> Next();

  // Estimate of what the object takes, with one message of it.
  int64_t bytes() const;

 private:
  v1::SimulatedTask TaskAt(std::size_t position) const;

  PlanSimulation simulation_;
  int64_t samples_per_micro_batch_;
  bool with_timeline_;
  // What each task waits for; empty without the timeline.
  TaskGraph waits_for_;
  // Position of each task in the timeline.
  std::vector<int32_t> ids_;
  bool has_summary_ = false;
  // How many tasks have been handed out.
  std::size_t next_ = 0;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_SIMULATION_MESSAGES_H_
