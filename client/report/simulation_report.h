// What a simulation found, as text for people.
#ifndef PLANWRIGHT_CLIENT_REPORT_SIMULATION_REPORT_H_
#define PLANWRIGHT_CLIENT_REPORT_SIMULATION_REPORT_H_

#include <string>

#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// All messages of a SimulatePlan together.
struct Simulation {
  v1::SimulationSummary summary;
  // In the order of their starts; empty without the timeline.
  v1::TimelineChunk timeline;
};

// Step time and throughput, the timeline, with collectives on links what the step is spent on, devices, links and
// warnings; no line is longer than 120 characters unless names are. `title` says what was simulated.
std::string SimulationReport(const Simulation& simulation, const std::string& title);

// Step time cut into 96 columns; of each device, what it does for most of each column: a digit is the forward pass of
// the micro-batch that ends so, a letter from a to j a backward pass likewise.
std::string TimelineText(const Simulation& simulation);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_SIMULATION_REPORT_H_
