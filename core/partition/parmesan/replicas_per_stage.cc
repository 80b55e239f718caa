#include "core/partition/parmesan/replicas_per_stage.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/limits.h"
#include "core/mapping/mapping.h"
#include "core/partition/parmesan/parmesan_search.h"
#include "core/partition/parmesan/remaining_devices.h"
#include "core/partition/parmesan/stage_mapping.h"
#include "core/partition/parmesan/uniform_links_problem.h"
#include "core/partition/search/search_record.h"

namespace planwright {
namespace {

constexpr char kName[] = "parmesan";
// Devices moved on trial for each partition.
constexpr int64_t kMappingWork = 200'000;

class ReplicasPerStageSearch : RecordedSearch {
 public:
  ReplicasPerStageSearch(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                         const SearchCallbacks& callbacks)
      : RecordedSearch(kName, request, limits, arena, callbacks) {}

  absl::StatusOr<SearchOutcome> Run() {
    OfferStarts();
    const absl::Status equal = TryEqualReplicas();
    callbacks_.on_phase("parmesan_uneven");
    TryProgram(AssumedSpeed::kFastest);
    if (request_.costs.network().num_link_classes() > 1) TryProgram(AssumedSpeed::kMedian);
    if (!record_.has_placement() && !equal.ok()) return equal;
    record_.ReportWork();
    record_.set_stop_reason(StopReasonOf(limits_, StopReason::kExhausted));
    return std::move(record_).Finish("no stages with replicas fit; allow devices with more memory");
  }

 private:
  bool IsWithinLimits(const Placement& placement) const {
    std::set<DeviceId> used;
    for (const Placement::Stage& stage : placement.stages) used.insert(stage.devices.begin(), stage.devices.end());
    return std::all_of(request_.device_limits.begin(), request_.device_limits.end(), [&](const DeviceLimit& limit) {
      return std::ranges::count_if(limit.devices, [&](DeviceId device) { return used.contains(device); }) <= limit.most;
    });
  }

  void Offer(const Placement& placement) {
    if (!IsWithinLimits(placement) || !callbacks_.objection(placement).empty()) return;
    record_.Offer(placement, kName);
  }

  // Its bounds know no other numbers of replicas.
  absl::Status TryEqualReplicas() {
    ResolvedProblem problem = request_.problem;
    problem.replication = Replication::kUniform;
    SearchRequest request{request_.graph,   request_.cluster,     problem, request_.costs,
                          request_.options, Algorithm::kParmesan, {}};
    request.device_limits = request_.device_limits;
    SearchCallbacks listening = callbacks_.Silenced();
    listening.on_phase = callbacks_.on_phase;
    listening.on_incumbent = [&](const SearchOutcome& so_far, int64_t, std::string_view) { Offer(so_far.placement); };
    const absl::StatusOr<SearchOutcome> outcome =
        SolveParmesan(request, ShareOfRemainingTime(limits_, 2), arena_, listening);
    if (!outcome.ok()) return outcome.status();
    Offer(outcome->placement);
    record_.AddWork(outcome->work);
    return absl::OkStatus();
  }

  void TryProgram(AssumedSpeed speed) {
    if (record_.is_settled() || CheckInterruption(limits_).has_value()) return;
    UniformLinksProblem flat = WithUniformLinks(request_, ConsumerCharge::kPerStage, speed);
    flat.cluster = WithinLimits(std::move(flat.cluster), request_.device_limits);
    ResolvedProblem problem = flat.problem;
    problem.replication = Replication::kPerStage;
    problem.num_stages.reset();
    problem.start_from.reset();
    const SolveLimits share = ShareOfRemainingTime(limits_, 3);
    const absl::StatusOr<SearchOutcome> outcome = SolveWithUniformLinks(flat, problem, share, arena_);
    if (!outcome.ok()) return;
    const UniformLinksBound found = UniformLinksBoundOf(outcome, share);
    record_.AddWork(found.work);
    if (speed == AssumedSpeed::kFastest && found.bound.has_value()) record_.RaiseBound(*found.bound);
    Map(flat, outcome->placement);
  }

  // `placement` is one on the devices of `flat`.
  void Map(const UniformLinksProblem& flat, const Placement& placement) {
    StagePartition partition;
    std::vector<int32_t> of_stage;
    for (const Placement::Stage& stage : placement.stages) {
      partition.stages.push_back(stage.operators);
      partition.classes.push_back(flat.cluster.devices[stage.devices.front().index()].device_class);
      of_stage.push_back(static_cast<int32_t>(stage.devices.size()));
    }
    const StageReplicas replicas(std::move(of_stage));
    const MappingInstance instance = MappingInstanceOf(request_, partition, replicas);
    SolveLimits limits = limits_;
    limits.work = std::clamp<int64_t>(limits_.work - record_.work(), 1, kMappingWork);
    const std::optional<MappingOutcome> mapped =
        MapStages(instance, {.seed = request_.options.seed, .relative_gap = 0, .starts = {}}, limits, arena_,
                  [](const MappingOutcome&) {});
    ++record_.counters()["mappings"];
    if (!mapped.has_value()) return;
    record_.AddWork(mapped->work);
    Offer(PlacementOf(partition, replicas, mapped->mapping));
  }
};

// All stages with equally many replicas.
std::vector<Modes> ModesOfEqualStages() {
  return {ThroughputModes(NetworkInterconnects(), SchedulesOfLoads(), {Replication::kNone, Replication::kUniform},
                          {Split::kContiguous},
                          "contiguous stages on devices connected in any way, all with equally many replicas: "
                          "partition, then device mapping"),
          StepModes(NetworkInterconnects(), {Replication::kNone, Replication::kUniform},
                    "stages with equally many replicas in synchronous steps of a number of micro-batches")};
}

// The exact program knows neither pins nor bans.
HeededSettings SettingsHeeded(const ResolvedProblem& problem) {
  HeededSettings heeded = HeedsEverySetting(problem);
  heeded.pins_and_bans = problem.replication != Replication::kPerStage;
  return heeded;
}

}  // namespace

absl::StatusOr<SearchOutcome> SolveWithReplicasPerStage(const SearchRequest& request, const SolveLimits& limits,
                                                        TaskArena& arena, const SearchCallbacks& callbacks) {
  if (request.problem.replication != Replication::kPerStage) return SolveParmesan(request, limits, arena, callbacks);
  return ReplicasPerStageSearch(request, limits, arena, callbacks).Run();
}

AlgorithmRow ParmesanRow() {
  std::vector<Modes> modes = ModesOfEqualStages();
  modes.insert(
      modes.begin() + 1,
      ThroughputModes(NetworkInterconnects(), SchedulesOfLoads(), {Replication::kPerStage}, {Split::kContiguous},
                      "the same with a number of replicas for each stage: the exact program over ideals on "
                      "alike devices, then device mapping"));
  return {.algorithm = Algorithm::kParmesan,
          .name = kName,
          .version = "3",
          .description = "operator clustering, dynamic program over ideals, refinement, device mapping (Parmesan)",
          .work_unit = "ideals enumerated or queried, devices moved on trial",
          .solve = SolveWithReplicasPerStage,
          .modes = std::move(modes),
          .heeds = SettingsHeeded};
}

AlgorithmRow ParmesanPaperRow() {
  return {.algorithm = Algorithm::kParmesanPaper,
          .name = "parmesan_paper",
          .version = "2",
          .description = "parmesan with communication counted as in the paper (equation 3)",
          .work_unit = "as parmesan",
          .solve = SolveWithReplicasPerStage,
          .modes = {},
          .modes_by_name = ModesOfEqualStages(),
          .heeds = SettingsHeeded};
}

}  // namespace planwright
