#include "core/partition/periodic/periodic_search.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/known.h"
#include "core/base/status_macros.h"
#include "core/partition/periodic/allocation_bound.h"
#include "core/partition/periodic/contiguous_optimum.h"
#include "core/partition/periodic/general_allocations.h"
#include "core/partition/periodic/madpipe.h"
#include "core/partition/periodic/periodic_instance.h"
#include "core/partition/search/search_record.h"
#include "core/schedule/one_f_one_b_star.h"
#include "core/schedule/pattern_search.h"

namespace planwright {
namespace {

// Nodes of the pattern search for each period that it tries: more of them rarely tell more.
constexpr int64_t kNodesPerPeriod = 3'000;
// States of MadPipe's dynamic program: about a second. Only chains of some hundred layers need as many.
constexpr int64_t kMadpipeStates = 4'000'000;

constexpr char kContiguousName[] = "contiguous_periodic";
constexpr char kMadpipeName[] = "madpipe";
constexpr char kAnnealingName[] = "periodic_annealing";
constexpr char kPipedreamName[] = "pipedream";
constexpr char kSingleDeviceName[] = "single_device";

class PeriodicSearch : RecordedSearch {
 public:
  // One of the ways to search; NameOf and Run look it up.
  struct Way {
    Algorithm algorithm;
    std::string_view name;
    absl::Status (PeriodicSearch::*search)();
  };

  static std::string_view NameOf(Algorithm algorithm) { return WayOf(algorithm).name; }

  PeriodicSearch(const SearchRequest& request, const PeriodicInstance& instance, const SolveLimits& limits,
                 TaskArena& arena, const SearchCallbacks& callbacks)
      : RecordedSearch(NameOf(request.algorithm), request, limits, arena, callbacks), instance_(instance) {}

  absl::StatusOr<SearchOutcome> Run() && {
    OfferStarts();
    record_.RaiseBound({instance_.work_bound, "work", BoundScope::kProblem});
    record_.RaiseBound({instance_.block_bound, "largest_block", BoundScope::kProblem});
    record_.set_stop_reason(StopReason::kExhausted);
    RETURN_IF_ERROR(RaiseAllocationBound());
    RETURN_IF_ERROR((this->*WayOf(request_.algorithm).search)());
    return std::move(record_).Finish(
        "no stages were found that fit in memory along the order of operators that was tried, and none were proven "
        "impossible; use devices with more memory, or more of them");
  }

 private:
  // REQUIRES: one of the algorithms of periodic_search.h.
  static const Way& WayOf(Algorithm algorithm) {
    static constexpr std::array<Way, 5> kWays = {{
        {Algorithm::kContiguousPeriodic, kContiguousName, &PeriodicSearch::SearchContiguous},
        {Algorithm::kMadpipe, kMadpipeName, &PeriodicSearch::SearchMadpipe},
        {Algorithm::kPeriodicAnnealing, kAnnealingName, &PeriodicSearch::SearchGeneral},
        {Algorithm::kPipedream, kPipedreamName, &PeriodicSearch::SearchPipedream},
        {Algorithm::kSingleDevice, kSingleDeviceName, &PeriodicSearch::SearchOneStage},
    }};
    return *std::ranges::find(kWays, algorithm, &Way::algorithm);
  }

  // What is proven along the order of the chain.
  BoundScope OrderScope() const { return instance_.is_only_order ? BoundScope::kProblem : BoundScope::kGivenOrder; }

  // Holds for contiguous stages too.
  absl::Status RaiseAllocationBound() {
    if (!instance_.speaks_for_order) return absl::OkStatus();
    const std::optional<Picoseconds> bound = AllocationBound(instance_.chain, instance_.devices);
    if (!bound.has_value()) return instance_.is_only_order ? NothingFits(request_.graph, instance_) : absl::OkStatus();
    record_.RaiseBound({*bound, "allocations", OrderScope()});
    return absl::OkStatus();
  }

  absl::Status SearchContiguous() {
    const std::optional<PeriodicAllocation> optimum = ContiguousOptimum(instance_.chain, instance_.devices);
    const bool is_posed = request_.problem.split == Split::kContiguous;
    if (optimum.has_value()) {
      OfferContiguous(optimum->allocation, kContiguousName);
      if (is_posed && instance_.speaks_for_order) {
        record_.RaiseBound({optimum->period, kContiguousName, OrderScope()});
      }
    } else if (is_posed && instance_.is_only_order) {
      return NoStagesFit(request_.graph, instance_);
    }
    return absl::OkStatus();
  }

  absl::Status SearchOneStage() {
    OfferContiguous({{0, static_cast<int32_t>(instance_.chain.layers.size()) - 1, 0}}, kSingleDeviceName);
    return absl::OkStatus();
  }

  absl::Status SearchPipedream() {
    const std::optional<PeriodicAllocation> partition = PipedreamPartition(instance_.chain, instance_.devices);
    if (partition.has_value()) OfferContiguous(partition->allocation, kPipedreamName);
    return absl::OkStatus();
  }

  std::optional<PeriodicAllocation> FindMadpipe(SpecialMemory memory) const {
    SolveLimits limits = limits_;
    limits.work = std::min(limits_.work, kMadpipeStates);
    return MadpipeOptimum(instance_.chain, instance_.devices, memory, limits);
  }

  // Its dynamic program counts too little memory: the pattern search says what the allocation really takes.
  absl::Status SearchMadpipe() {
    const std::optional<PeriodicAllocation> optimum = FindMadpipe(SpecialMemory::kPaper);
    if (!optimum.has_value()) return absl::OkStatus();
    if (MostStagesPerDevice(optimum->allocation) > Known(request_.problem.max_stages_per_device))
      return absl::OkStatus();
    SolveLimits limits = limits_;
    limits.work = std::min(limits_.work, kNodesPerPeriod);
    PatternOutcome outcome = PatternSearch(instance_.chain, instance_.devices, optimum->allocation, limits);
    record_.AddWork(outcome.nodes);
    record_.counters()["pattern_nodes"] = outcome.nodes;
    record_.set_stop_reason(StopReasonOf(limits_, StopReason::kExhausted));
    if (!outcome.pattern.has_value()) return absl::OkStatus();
    const bool is_best =
        record_.Offer(PlacementOf(instance_, optimum->allocation, *std::move(outcome.pattern)), kMadpipeName);
    if (is_best && outcome.lower_bound.has_value()) {
      record_.RaiseBound({*outcome.lower_bound, "pattern_search", BoundScope::kGivenAllocation});
    }
    return absl::OkStatus();
  }

  absl::Status SearchGeneral() {
    GeneralAllocationRequest request{instance_.chain,
                                     instance_.devices,
                                     Known(request_.problem.max_stages_per_device),
                                     {},
                                     request_.options.seed,
                                     request_.options.relative_gap};
    for (const SpecialMemory memory : {SpecialMemory::kPaper, SpecialMemory::kTight}) {
      const std::optional<PeriodicAllocation> start = FindMadpipe(memory);
      if (start.has_value()) request.starts.push_back(start->allocation);
    }
    SolveLimits limits = limits_;
    limits.work = request_.options.work_limit.value_or(std::min(limits_.work, kGeneralAllocationWork));
    const GeneralAllocationOutcome outcome =
        FindGeneralAllocation(request, limits, arena_, [this](const ScheduledAllocation& better) {
          record_.Offer(PlacementOf(instance_, better.allocation, better.pattern), kAnnealingName);
        });
    record_.AddWork(outcome.work.units);
    record_.counters()["moves"] = outcome.work.moves;
    record_.counters()["allocations_judged"] = outcome.work.judged;
    record_.counters()["pattern_nodes"] = outcome.work.nodes;
    if (outcome.lower_bound.has_value() && instance_.speaks_for_order) {
      record_.RaiseBound({*outcome.lower_bound, "allocations", OrderScope()});
    }
    record_.set_stop_reason(StopReasonOf(limits_, StopReason::kWorkLimit));
    return absl::OkStatus();
  }

  // Offers the allocation with its best pattern, if there is any that fits.
  void OfferContiguous(const ChainAllocation& allocation, std::string_view made_by) {
    const std::optional<Picoseconds> period = SmallestPeriod(instance_.chain, allocation, instance_.devices);
    if (!period.has_value()) return;
    OneFOneBStar star = Known(ScheduleOneFOneBStar(instance_.chain, allocation, instance_.devices, *period));
    record_.Offer(PlacementOf(instance_, allocation, std::move(star.pattern)), made_by);
  }

  const PeriodicInstance& instance_;
};

Modes ModesOfSharedDevices() {
  return PeriodicModes({Split::kNonContiguous},
                       "periodic patterns with several stages per device, on accelerators of one class");
}

}  // namespace

absl::StatusOr<SearchOutcome> SolvePeriodic(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                            const SearchCallbacks& callbacks) {
  callbacks.on_phase(PeriodicSearch::NameOf(request.algorithm));
  ASSIGN_OR_RETURN(const PeriodicInstance instance, BuildPeriodicInstance(request));
  return PeriodicSearch(request, instance, limits, arena, callbacks).Run();
}

AlgorithmRow ContiguousPeriodicRow() {
  return {.algorithm = Algorithm::kContiguousPeriodic,
          .name = kContiguousName,
          .version = "2",
          .description =
              "optimal contiguous stages of a chain under memory with their optimal schedule, 1F1B* "
              "(MadPipe, 4.1)",
          .work_unit = "none",
          .solve = SolvePeriodic,
          .modes = {PeriodicModes({Split::kContiguous},
                                  "periodic patterns of shortest period that fit in memory, inference and training, "
                                  "one stage per device, on accelerators of one class")},
          .modes_by_name = {ModesOfSharedDevices()}};
}

AlgorithmRow MadpipeRow() {
  return {.algorithm = Algorithm::kMadpipe,
          .name = kMadpipeName,
          .version = "2",
          .description =
              "one device may hold several stages: exact dynamic program, then the best pattern (MadPipe, "
              "4.2)",
          .work_unit = "nodes of the pattern search",
          .solve = SolvePeriodic,
          .modes = {},
          .modes_by_name = {ModesOfSharedDevices()}};
}

AlgorithmRow PeriodicAnnealingRow() {
  return {.algorithm = Algorithm::kPeriodicAnnealing,
          .name = kAnnealingName,
          .version = "2",
          .description = "any device may hold several stages: annealing of allocations, each with its best pattern",
          .work_unit = "about half a microsecond: 1 for each move, steps^2 / 32 for each node of a pattern search",
          .solve = SolvePeriodic,
          .modes = {ModesOfSharedDevices()}};
}

}  // namespace planwright
