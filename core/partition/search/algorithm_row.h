// What an algorithm says of itself: its name, the function that runs it, which problems it plans and which of their
// settings it heeds. Each room defines the rows of its algorithms; core/planner/algorithms lists them.
#ifndef PLANWRIGHT_CORE_PARTITION_SEARCH_ALGORITHM_ROW_H_
#define PLANWRIGHT_CORE_PARTITION_SEARCH_ALGORITHM_ROW_H_

#include <string_view>
#include <vector>

#include "core/model/problem.h"
#include "core/partition/search/search.h"

namespace planwright {

// Problems that are planned alike: those of every combination of these settings.
struct Modes {
  std::vector<Objective> objectives;
  // As in InterconnectName.
  std::vector<std::string_view> interconnects;
  std::vector<ScheduleKind> schedules;
  std::vector<Replication> replications;
  std::vector<Split> splits;
  std::vector<Overlap> overlaps;
  // Whether problem.micro_batches is set; false: it is the limit of many.
  bool counts_micro_batches = false;
  std::string_view description;
};

bool HasSameSettings(const Modes& a, const Modes& b);

// In the limit of many micro-batches, where loads are all that counts: not GPIPE, which adds up both phases.
std::vector<ScheduleKind> SchedulesOfOneLoad();
std::vector<ScheduleKind> SchedulesOfLoads();
// The interconnects where pairs of devices have links of their own, and all interconnects.
std::vector<std::string_view> NetworkInterconnects();
std::vector<std::string_view> EveryInterconnect();

// MAX_THROUGHPUT with any overlap, and MIN_DEVICES, which searches over numbers of devices.
Modes ThroughputModes(std::vector<std::string_view> interconnects, std::vector<ScheduleKind> schedules,
                      std::vector<Replication> replications, std::vector<Split> splits, std::string_view description);
// MAX_THROUGHPUT and MIN_DEVICES for contiguous stages in synchronous steps of a number of micro-batches.
Modes StepModes(std::vector<std::string_view> interconnects, std::vector<Replication> replications,
                std::string_view description);
Modes LatencyModes(std::string_view description);
Modes PeriodicModes(std::vector<Split> splits, std::string_view description);
// Every mode that has contiguous stages, but not those of patterns and subgraphs.
std::vector<Modes> PipelineModes(std::string_view description);

// Which settings of a problem a search heeds; what it does not heed must keep its default.
struct HeededSettings {
  // problem.pinned and problem.forbidden.
  bool pins_and_bans = false;
  // problem.num_stages, problem.num_replicas and problem.allreduce.ring.
  bool stages_and_replicas = false;
  // Whether a stage keeps activations by its place in the pipeline.
  bool activations_by_place = false;
  // SearchRequest::device_limits; other searches are given sets of devices.
  bool device_limits = false;
};

// A search written for every setting.
HeededSettings HeedsEverySetting(const ResolvedProblem& problem);
// A search that heeds pins and bans where no pipeline is in the way: for latency, and where devices may hold several
// stages without replicas.
HeededSettings HeedsPinsWithoutPipeline(const ResolvedProblem& problem);

struct AlgorithmRow {
  Algorithm algorithm = Algorithm::kAuto;
  // Stable name: Provenance::algorithm. In capitals the name of the value in the API.
  std::string_view name;
  // Changes whenever the same request may give another plan.
  std::string_view version;
  std::string_view description;
  std::string_view work_unit;
  SolveFunction solve = nullptr;
  // What AUTO takes it for, and what it plans only where it is asked for by name.
  std::vector<Modes> modes;
  std::vector<Modes> modes_by_name = {};
  HeededSettings (*heeds)(const ResolvedProblem& problem) = HeedsPinsWithoutPipeline;
  // One of the simple ways that plans are compared with.
  bool is_baseline = false;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEARCH_ALGORITHM_ROW_H_
