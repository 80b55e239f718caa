#include <string_view>
#include <utility>
#include <vector>

#include "core/partition/baselines/baselines.h"

namespace planwright {
namespace {

constexpr Replication kUnreplicated = Replication::kNone;
constexpr Replication kUniform = Replication::kUniform;
constexpr Replication kPerStage = Replication::kPerStage;

// Where pairs of devices have links of their own, of different speeds.
std::vector<std::string_view> UnevenInterconnects() { return {"grid", "links", "matrix", "nodes"}; }

Modes WholeGraphs(std::vector<std::string_view> interconnects, std::vector<Replication> replications) {
  return ThroughputModes(std::move(interconnects), SchedulesOfLoads(), std::move(replications), {Split::kContiguous},
                         "baselines for contiguous stages");
}

Modes Steps(std::vector<Replication> replications) {
  return StepModes(NetworkInterconnects(), std::move(replications), "baselines for synchronous steps");
}

// Where devices are alike but for their class: stages that follow each other, and any others.
std::vector<Modes> AnySplit() {
  const std::vector<Replication> replications = {kUnreplicated, kPerStage};
  return {ThroughputModes({"host_staged", "uniform"}, SchedulesOfLoads(), replications, {Split::kContiguous},
                          "baselines for contiguous stages, one stage per device"),
          ThroughputModes({"host_staged", "uniform"}, SchedulesOfLoads(), replications, {Split::kNonContiguous},
                          "baselines for any splits")};
}

Modes Latency() { return LatencyModes("baselines for least latency"); }

std::vector<Modes> Patterns() {
  return {PeriodicModes({Split::kContiguous}, "baselines for periodic patterns"),
          PeriodicModes({Split::kNonContiguous}, "baselines for periodic patterns of several stages per device")};
}

std::vector<Modes> Join(std::vector<std::vector<Modes>> lists) {
  std::vector<Modes> joined;
  for (std::vector<Modes>& list : lists) joined.insert(joined.end(), list.begin(), list.end());
  return joined;
}

std::vector<Modes> ModesOfSingleDevice() {
  return Join({AnySplit(),
               {Latency(), WholeGraphs({"hierarchy"}, {kPerStage}), WholeGraphs({"hierarchy"}, {kUnreplicated}),
                WholeGraphs(UnevenInterconnects(), {kPerStage}), WholeGraphs(UnevenInterconnects(), {kUnreplicated}),
                WholeGraphs(NetworkInterconnects(), {kUniform}), Steps({kUnreplicated, kUniform}), Steps({kPerStage})},
               Patterns()});
}

std::vector<Modes> ModesOfDataParallel() {
  return {ThroughputModes({"host_staged", "uniform"}, SchedulesOfLoads(), {kPerStage},
                          {Split::kContiguous, Split::kNonContiguous}, "the baseline for replicated stages"),
          WholeGraphs({"hierarchy"}, {kPerStage}),
          WholeGraphs(UnevenInterconnects(), {kPerStage}),
          WholeGraphs(NetworkInterconnects(), {kUniform}),
          Steps({kUnreplicated, kUniform}),
          Steps({kPerStage})};
}

std::vector<Modes> ModesOfGreedy() {
  return Join({AnySplit(), {Latency(), WholeGraphs(UnevenInterconnects(), {kUnreplicated})}});
}

std::vector<Modes> ModesOfPipedream() {
  return Join({AnySplit(),
               {WholeGraphs(UnevenInterconnects(), {kUnreplicated}), WholeGraphs(NetworkInterconnects(), {kUniform}),
                Steps({kUnreplicated, kUniform})},
               Patterns()});
}

// What they make is verified, whatever they know of the settings. Patterns are searched for without pins.
HeededSettings SettingsHeeded(const ResolvedProblem& problem) {
  HeededSettings heeded = HeedsEverySetting(problem);
  heeded.device_limits = false;
  if (problem.schedule != ScheduleKind::kPeriodic) return heeded;
  heeded = HeedsPinsWithoutPipeline(problem);
  heeded.activations_by_place = true;
  return heeded;
}

AlgorithmRow RowOf(Algorithm algorithm, std::string_view name, std::string_view description, std::string_view work_unit,
                   std::vector<Modes> modes) {
  return {.algorithm = algorithm,
          .name = name,
          .version = "2",
          .description = description,
          .work_unit = work_unit,
          .solve = SolveByBaseline,
          .modes = {},
          .modes_by_name = std::move(modes),
          .heeds = SettingsHeeded,
          .is_baseline = true};
}

}  // namespace

std::vector<AlgorithmRow> BaselineRows() {
  return {
      RowOf(Algorithm::kSingleDevice, "single_device", "baseline: everything on one device", "none",
            ModesOfSingleDevice()),
      RowOf(Algorithm::kDataParallel, "data_parallel",
            "baseline: the whole graph on every device of one class (replication per stage only)", "none",
            ModesOfDataParallel()),
      RowOf(Algorithm::kGreedy, "greedy",
            "baseline: fills one device after the other along a topological order (Tarnawski et al. 2020, section 7)",
            "none", ModesOfGreedy()),
      RowOf(Algorithm::kLocalSearch, "local_search",
            "baseline: steepest descent from 10 random assignments (Tarnawski et al. 2020, section 6)",
            "moves looked at", AnySplit()),
      RowOf(Algorithm::kPipedream, "pipedream",
            "baseline: branchings contracted, then the linearized program (Tarnawski et al. 2020, section 6)", "none",
            ModesOfPipedream()),
      RowOf(Algorithm::kScotch, "scotch",
            "baseline: k-way partitioning by the library Scotch (Tarnawski et al. 2020, sections 6 and 7)",
            "none: it cannot be interrupted", Join({AnySplit(), {Latency()}})),
      RowOf(Algorithm::kMaxLoad, "max_load",
            "baseline for latency: the split of greatest throughput (Tarnawski et al. 2020, section 7)", "as ideal_dp",
            {Latency()}),
  };
}

}  // namespace planwright
