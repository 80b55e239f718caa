#include "core/partition/search/algorithm_row.h"

#include <utility>

namespace planwright {

bool HasSameSettings(const Modes& a, const Modes& b) {
  return a.objectives == b.objectives && a.interconnects == b.interconnects && a.schedules == b.schedules &&
         a.replications == b.replications && a.splits == b.splits && a.overlaps == b.overlaps &&
         a.counts_micro_batches == b.counts_micro_batches;
}

std::vector<ScheduleKind> SchedulesOfOneLoad() {
  return {ScheduleKind::kSteadyState, ScheduleKind::kOneFOneB, ScheduleKind::kPipedreamAsync};
}

std::vector<ScheduleKind> SchedulesOfLoads() {
  return {ScheduleKind::kSteadyState, ScheduleKind::kGpipe, ScheduleKind::kOneFOneB, ScheduleKind::kPipedreamAsync};
}

std::vector<std::string_view> NetworkInterconnects() {
  return {"uniform", "hierarchy", "grid", "links", "matrix", "nodes"};
}

std::vector<std::string_view> EveryInterconnect() {
  return {"host_staged", "uniform", "hierarchy", "grid", "links", "matrix", "nodes"};
}

Modes ThroughputModes(std::vector<std::string_view> interconnects, std::vector<ScheduleKind> schedules,
                      std::vector<Replication> replications, std::vector<Split> splits, std::string_view description) {
  return {.objectives = {Objective::kMaxThroughput, Objective::kMinDevices},
          .interconnects = std::move(interconnects),
          .schedules = std::move(schedules),
          .replications = std::move(replications),
          .splits = std::move(splits),
          .overlaps = {Overlap::kSerial, Overlap::kOverlapped, Overlap::kFullDuplex},
          .description = description};
}

Modes StepModes(std::vector<std::string_view> interconnects, std::vector<Replication> replications,
                std::string_view description) {
  Modes modes = ThroughputModes(std::move(interconnects),
                                {ScheduleKind::kSteadyState, ScheduleKind::kGpipe, ScheduleKind::kOneFOneB},
                                std::move(replications), {Split::kContiguous}, description);
  modes.counts_micro_batches = true;
  return modes;
}

Modes LatencyModes(std::string_view description) {
  return {.objectives = {Objective::kMinLatency},
          .interconnects = {"host_staged"},
          .schedules = {ScheduleKind::kSteadyState},
          .replications = {Replication::kNone},
          .splits = {Split::kContiguous, Split::kNonContiguous},
          .overlaps = {Overlap::kSerial},
          .description = description};
}

Modes PeriodicModes(std::vector<Split> splits, std::string_view description) {
  return {.objectives = {Objective::kMaxThroughput, Objective::kMinDevices},
          .interconnects = {"uniform"},
          .schedules = {ScheduleKind::kPeriodic},
          .replications = {Replication::kNone},
          .splits = std::move(splits),
          .overlaps = {Overlap::kOverlapped, Overlap::kFullDuplex},
          .description = description};
}

std::vector<Modes> PipelineModes(std::string_view description) {
  const std::vector<Replication> replications = {Replication::kNone, Replication::kUniform, Replication::kPerStage};
  return {ThroughputModes({"host_staged"}, SchedulesOfLoads(), {Replication::kNone, Replication::kPerStage},
                          {Split::kContiguous}, description),
          ThroughputModes(NetworkInterconnects(), SchedulesOfLoads(), replications, {Split::kContiguous}, description),
          StepModes(NetworkInterconnects(), replications, description)};
}

HeededSettings HeedsEverySetting(const ResolvedProblem& /*problem*/) {
  return {.pins_and_bans = true, .stages_and_replicas = true, .activations_by_place = true, .device_limits = true};
}

HeededSettings HeedsPinsWithoutPipeline(const ResolvedProblem& problem) {
  const bool shares_devices = problem.split == Split::kNonContiguous && problem.schedule != ScheduleKind::kPeriodic &&
                              problem.replication == Replication::kNone;
  return {.pins_and_bans = problem.objective == Objective::kMinLatency || shares_devices};
}

}  // namespace planwright
