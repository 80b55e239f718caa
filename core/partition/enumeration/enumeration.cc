#include "core/partition/enumeration/enumeration.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/graph/operator_unions.h"
#include "core/model/colocation.h"
#include "core/model/device_selection.h"
#include "core/partition/enumeration/device_options.h"
#include "core/partition/enumeration/forms.h"
#include "core/partition/enumeration/placement_judge.h"
#include "core/partition/enumeration/ring_choice.h"
#include "core/partition/noncontiguous/net_instance.h"
#include "core/partition/search/block_instance.h"
#include "core/partition/search/feasibility.h"
#include "core/partition/search/search_record.h"

namespace planwright {
namespace {

constexpr char kName[] = "enumeration";

// Problems with more are not even counted: devices, those of them whose links differ, and operators that share none.
constexpr std::size_t kMaxDevices = 1'024;
constexpr std::size_t kMaxLinkedDevices = 256;
constexpr int32_t kMaxUnions = 1'024;

// Under PERIODIC, where every step looks at the whole graph: operators and tensors, in a second or two.
constexpr int64_t kLooksOfChains = 16'000'000;

enum class Form { kPipelines, kAllocations, kSubgraphs, kChains, kNone };

Form FormOf(const SearchRequest& request) {
  const ResolvedProblem& problem = request.problem;
  if (problem.schedule == ScheduleKind::kPeriodic) return Form::kChains;
  if (problem.objective == Objective::kMinLatency) return Form::kSubgraphs;
  if (problem.split == Split::kContiguous) return Form::kPipelines;
  const bool is_plain = IgnoresOrderOfStages(problem) && GivenTimesCount(request.cluster.interconnect) &&
                        problem.replication != Replication::kUniform && !problem.num_stages.has_value() &&
                        !problem.num_replicas.has_value();
  return is_plain ? Form::kAllocations : Form::kNone;
}

bool IsTooLarge(const SearchRequest& request) {
  const bool links_differ = request.costs.network().num_link_classes() > 1;
  return SelectedDevices(request.cluster, request.problem.devices_to_use).size() >
             (links_differ ? kMaxLinkedDevices : kMaxDevices) ||
         CountLabels(ColocationUnions(request.graph, request.problem)) > kMaxUnions;
}

int64_t MaxWork(const SearchRequest& request, const SolveLimits& limits) {
  if (request.options.work_limit.has_value() || FormOf(request) != Form::kChains) return limits.work;
  const std::size_t size = 1 + request.graph.operators.size() + request.graph.tensors.size();
  return std::min(limits.work, kLooksOfChains / static_cast<int64_t>(size));
}

// A problem in the form in which it is enumerated.
class Instance {
 public:
  explicit Instance(const SearchRequest& request)
      : request_(request),
        form_(FormOf(request)),
        devices_(request),
        blocks_(form_ == Form::kAllocations ? BuildNetInstance(request).blocks
                                            : BuildBlockInstance(request, MergeRule::kNever)),
        chain_blocks_(form_ == Form::kChains ? MakeChainBlocks(request.graph, request.problem) : ChainBlocks()) {}

  std::optional<int64_t> Count() const {
    switch (form_) {
      case Form::kPipelines:
        if (HasTooLargeRings()) return std::nullopt;
        return CountPipelines(request_, blocks_.precedence, devices_);
      case Form::kAllocations:
        return CountAllocations(request_, blocks_.operators.size(), devices_);
      case Form::kSubgraphs:
        return CountSubgraphs(request_, devices_);
      case Form::kChains:
        return CountChains(request_, chain_blocks_.precedence, devices_);
      default:
        return std::nullopt;
    }
  }

  void Enumerate(PlacementJudge& judge) const {
    if (form_ == Form::kPipelines) EnumeratePipelines(request_, blocks_, devices_, judge);
    if (form_ == Form::kAllocations) EnumerateAllocations(request_, blocks_.operators, devices_, judge);
    if (form_ == Form::kSubgraphs) EnumerateSubgraphs(request_, devices_, judge);
    if (form_ == Form::kChains) EnumerateChains(request_, chain_blocks_, devices_, judge);
  }

  // Why there is no placement, once all have been looked at.
  Infeasibility WhyNone(bool has_overfull) const {
    std::optional<Infeasibility> shortages = FindShortages(request_.graph, request_.cluster, blocks_);
    if (shortages.has_value()) return *std::move(shortages);
    Infeasibility none;
    if (has_overfull) {
      none.Add({"memory", "", 0, 0,
                "every placement that the problem allows overfills a device; use devices with more memory, or more of "
                "them"});
    } else {
      none.Add({"devices", "", 0, 0,
                "no placement has the numbers of stages and replicas, the pins and the bans that the problem asks for; "
                "allow more devices, or ask for less"});
    }
    return none;
  }

 private:
  bool HasTooLargeRings() const {
    return OrderOfTeams(request_) != TeamOrder::kAscending && request_.problem.replication != Replication::kNone &&
           devices_.max_used() > RingChoice::kMaxReplicas;
  }

  const SearchRequest& request_;
  const Form form_;
  const DeviceOptions devices_;
  const BlockInstance blocks_;
  const ChainBlocks chain_blocks_;
};

// nullptr: the problem has no such form, or is too large even to be counted.
std::unique_ptr<const Instance> MakeInstance(const SearchRequest& request) {
  if (FormOf(request) == Form::kNone || IsTooLarge(request)) return nullptr;
  return std::make_unique<const Instance>(request);
}

// Where devices may hold several stages, what is enumerated has no places in a pipeline, nor a number of stages.
HeededSettings SettingsHeeded(const ResolvedProblem& problem) {
  if (problem.split != Split::kNonContiguous) return HeedsEverySetting(problem);
  return {.pins_and_bans = true, .device_limits = true};
}

}  // namespace

std::optional<int64_t> CountPlacements(const SearchRequest& request) {
  const std::unique_ptr<const Instance> instance = MakeInstance(request);
  return instance == nullptr ? std::nullopt : instance->Count();
}

absl::StatusOr<SearchOutcome> SolveByEnumeration(const SearchRequest& request, const SolveLimits& limits,
                                                 TaskArena& /*arena*/, const SearchCallbacks& callbacks) {
  SearchRecord record(kName, request.options.relative_gap, callbacks);
  for (const SearchStart& start : request.starts) record.Offer(start.placement, start.made_by);
  const std::unique_ptr<const Instance> instance = MakeInstance(request);
  const std::optional<int64_t> count = instance == nullptr ? std::nullopt : instance->Count();
  if (!count.has_value()) {
    record.NameFallback();
    return std::move(record).Finish("the problem has too many placements to look at all of them");
  }
  record.counters()["placements_at_most"] = *count;
  callbacks.on_phase("enumeration");
  PlacementJudge judge(request, limits, MaxWork(request, limits), record);
  instance->Enumerate(judge);
  record.ReportWork();
  if (judge.has_stopped()) {
    record.set_stop_reason(judge.is_out_of_work() ? StopReason::kWorkLimit
                                                  : StopReasonOf(limits, StopReason::kTimeLimit));
    record.NameFallback();
  } else if (!record.has_placement() && judge.is_unproven()) {
    record.set_stop_reason(StopReason::kExhausted);
  } else if (!record.has_placement()) {
    return InfeasibleError(instance->WhyNone(judge.has_overfull()));
  } else {
    record.RaiseBound({.value = judge.ProvenBound(), .method = kName, .scope = BoundScope::kProblem});
  }
  return std::move(record).Finish("no pattern was found for any stages, and none was proven impossible");
}

AlgorithmRow EnumerationRow() {
  std::vector<Modes> modes = PipelineModes("every placement of a small problem");
  modes.push_back(ThroughputModes({"host_staged", "uniform"}, SchedulesOfLoads(),
                                  {Replication::kNone, Replication::kPerStage}, {Split::kNonContiguous},
                                  "every split of a small problem"));
  modes.push_back(LatencyModes("every choice of subgraphs of a small problem"));
  modes.push_back(PeriodicModes({Split::kContiguous, Split::kNonContiguous},
                                "small problems of both kinds, every placement looked at"));
  return {.algorithm = Algorithm::kEnumeration,
          .name = kName,
          .version = "2",
          .description = "every placement of a problem that has at most ten million, by branch and bound",
          .work_unit = "partial placements",
          .solve = SolveByEnumeration,
          .modes = std::move(modes),
          .heeds = SettingsHeeded};
}

}  // namespace planwright
