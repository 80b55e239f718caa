#include "core/partition/latency/min_latency.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/base/infeasibility.h"
#include "core/partition/latency/latency_annealing.h"
#include "core/partition/latency/latency_bounds.h"
#include "core/partition/latency/latency_feasibility.h"
#include "core/partition/latency/latency_instance.h"
#include "core/partition/latency/latency_placement.h"
#include "core/partition/latency/latency_starts.h"
#include "core/partition/latency/subgraph_schedule.h"
#include "core/partition/search/search_record.h"

namespace planwright {
namespace {

constexpr char kAnnealingName[] = "latency_annealing";
constexpr char kGreedyName[] = "greedy";
constexpr char kSerialName[] = "serial_cut";
constexpr char kBeamName[] = "beam";
constexpr char kCpuName[] = "cpu_only";

// The slices of a round in turn: from a start, and from the best assignment so far. First temperatures are shares of
// the best latency.
constexpr std::size_t kSlicesPerRound = 4;
constexpr double kStartTemperature = 0.02;
constexpr double kRepairTemperature = 0.001;
// In a small graph one move changes much of the latency: the temperature is at least this over the number of groups.
constexpr double kSmallGraphTemperature = 2;
constexpr double kLastTemperature = 1e-4;
constexpr int64_t kFirstSliceWork = 500'000;
constexpr double kSliceGrowth = 1.2;

// Beams, and the part of the work that each of them may take.
constexpr int64_t kBeamOrders = 4;
constexpr int64_t kBeamShare = 10;

class Search : RecordedSearch {
 public:
  Search(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, const SearchCallbacks& callbacks)
      : RecordedSearch(kAnnealingName, request, limits, arena, callbacks),
        instance_(BuildLatencyInstance(request)),
        slots_per_pass_(std::min(instance_.subgraph_limit.value_or(kMaxSubgraphsSearched), kMaxSubgraphsSearched)),
        work_limit_(limits.work == std::numeric_limits<int64_t>::max() ? kDefaultLatencyWork : limits.work) {}

  absl::StatusOr<SearchOutcome> Run() {
    const std::optional<Infeasibility> shortages = FindLatencyShortages(request_.graph, request_.cluster, instance_);
    if (shortages.has_value()) return InfeasibleError(*shortages);
    if (SubgraphSchedule::BytesFor(instance_, slots_per_pass_) > limits_.memory_bytes / 8) {
      return absl::ResourceExhaustedError(
          "the tables of the latency search would take too much memory: use fewer devices, or fewer subgraphs per "
          "device (problem.max_subgraphs_per_device)");
    }
    OfferStarts();
    FindStarts();
    callbacks_.on_phase("bounds");
    const Picoseconds enough = record_.has_placement() ? record_.objective() : Picoseconds::max();
    for (const Bound& bound : LatencyBounds(instance_, limits_, enough)) record_.RaiseBound(bound);
    callbacks_.on_phase(kAnnealingName);
    Anneal();
    return std::move(record_).Finish(
        "no plan was found that fits the memory of the devices, and none was proven impossible; raise "
        "options.work_limit, or allow more memory, devices or subgraphs per device");
  }

 private:
  void Offer(const LatencyAssignment& assignment, std::string_view made_by) {
    record_.Offer(ToPlacement(instance_, slots_per_pass_, assignment), made_by);
    if (!best_.has_value() || assignment.latency < best_->latency) best_ = assignment;
  }

  // Keeps `start`, and offers it if it is a plan.
  void AddStart(LatencyAssignment start, std::string_view made_by) {
    SubgraphSchedule schedule(instance_, slots_per_pass_);
    schedule.Load(start.places, start.sequences);
    start.latency = schedule.Latency();
    const bool is_plan = start.latency != SubgraphSchedule::kCyclic && schedule.loads().MissingBytes() == 0;
    if (is_plan) Offer(start, made_by);
    starts_.push_back(std::move(start));
  }

  // Goes along the order of `blocks` and random ones: what is found depends much on the order.
  void AddBeamStarts(std::vector<LatencyBlock> blocks, Poller& poller) {
    RandomStream random(1);
    for (int64_t order = 0; order < kBeamOrders; ++order) {
      int64_t work = 0;
      std::optional<LatencyAssignment> beam =
          BeamLatencyStart(instance_, slots_per_pass_, blocks, work_limit_ / kBeamShare, poller, work);
      record_.AddWork(work);
      if (!beam.has_value()) return;
      AddStart(*std::move(beam), kBeamName);
      blocks = Reordered(instance_, blocks, random);
    }
  }

  void FindStarts() {
    callbacks_.on_phase("starts");
    const std::vector<LatencyBlock> blocks = LatencyBlocks(instance_);
    AddStart(GreedyLatencyStart(instance_, slots_per_pass_, blocks), kGreedyName);
    Poller poller(limits_);
    std::optional<LatencyAssignment> serial = SerialLatencyStart(instance_, slots_per_pass_, blocks, poller);
    if (serial.has_value()) AddStart(*std::move(serial), kSerialName);
    AddBeamStarts(blocks, poller);
    const std::vector<bool>& on_cpu = instance_.allowed_on_cpu;
    if (std::all_of(on_cpu.begin(), on_cpu.end(), [](bool allowed) { return allowed; })) {
      AddStart(CpuAssignment(instance_, slots_per_pass_), kCpuName);
    }
    for (const SearchStart& start : request_.starts) {
      std::optional<LatencyAssignment> given = FromPlacement(instance_, slots_per_pass_, start.placement);
      if (given.has_value()) AddStart(*std::move(given), start.made_by);
    }
  }

  // What slice `number` of round `round` begins with, and how.
  std::pair<const LatencyAssignment*, AnnealingSlice> SliceOf(std::size_t round, std::size_t number) const {
    const std::size_t turn = round * kSlicesPerRound + number;
    const bool is_fresh = number % 2 == 0 || !best_.has_value();
    const double least = kSmallGraphTemperature / instance_.num_groups();
    const double temperature = is_fresh ? std::max(kStartTemperature, least) : kRepairTemperature;
    const double scale = static_cast<double>(std::max<int64_t>(1, best_.has_value() ? best_->latency : Scale()));
    return {is_fresh ? &starts_[turn / 2 % starts_.size()] : &*best_,
            {.first_temperature = temperature * scale,
             .last_temperature = kLastTemperature * scale,
             .work = slice_work_,
             .seed = static_cast<uint64_t>(request_.options.seed),
             .stream = turn}};
  }

  // A latency to set temperatures by before there is a plan: all on CPUs, one after the other.
  int64_t Scale() const {
    int64_t sum = 0;
    for (const int64_t time : instance_.cpu_time) sum += time;
    return sum;
  }

  void Anneal() {
    for (std::size_t round = 0; !IsOver(); ++round) {
      const int64_t left = work_limit_ - record_.work();
      const auto slices = static_cast<int64_t>(kSlicesPerRound);
      slice_work_ = std::min(slice_work_, std::max<int64_t>(1, left / slices));
      RunRound(round);
      slice_work_ = static_cast<int64_t>(static_cast<double>(slice_work_) * kSliceGrowth);
    }
  }

  bool IsOver() {
    if (record_.is_settled()) return true;
    record_.set_stop_reason(StopReasonOf(limits_, StopReason::kWorkLimit));
    return record_.stop_reason() != StopReason::kWorkLimit || record_.work() >= work_limit_;
  }

  void RunRound(std::size_t round) {
    std::array<LatencyAnnealingResult, kSlicesPerRound> results;
    annealers_.resize(kSlicesPerRound);
    arena_.ParallelFor(kSlicesPerRound, 1, [&](std::size_t number) {
      std::unique_ptr<LatencyAnnealer>& annealer = annealers_[number];
      if (annealer == nullptr) annealer = std::make_unique<LatencyAnnealer>(instance_, slots_per_pass_, limits_);
      const auto [start, slice] = SliceOf(round, number);
      results[number] = annealer->Run(*start, slice);
    });
    for (const LatencyAnnealingResult& result : results) {
      record_.AddWork(result.work);
      record_.counters()["moves"] += result.moves;
    }
    for (const LatencyAnnealingResult& result : results) {
      const bool is_better = result.best.has_value() && (!best_.has_value() || result.best->latency < best_->latency);
      if (is_better) Offer(*result.best, kAnnealingName);
    }
    record_.counters()["rounds"] = static_cast<int64_t>(round) + 1;
  }

  const LatencyInstance instance_;
  const int32_t slots_per_pass_;
  const int64_t work_limit_;
  std::vector<LatencyAssignment> starts_;
  std::optional<LatencyAssignment> best_;
  // One for each slice of a round.
  std::vector<std::unique_ptr<LatencyAnnealer>> annealers_;
  int64_t slice_work_ = kFirstSliceWork;
};

}  // namespace

absl::StatusOr<SearchOutcome> SolveMinLatency(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                              const SearchCallbacks& callbacks) {
  return Search(request, limits, arena, callbacks).Run();
}

AlgorithmRow LatencyAnnealingRow() {
  return {.algorithm = Algorithm::kLatencyAnnealing,
          .name = kAnnealingName,
          .version = "2",
          .description =
              "simulated annealing on the subgraphs of accelerators and their schedule (the problem: Tarnawski et al. "
              "2020, 4)",
          .work_unit =
              "about 10 ns: 1 for each subgraph or CPU operator scheduled, 6 for each operator moved, 3 for "
              "each group chosen, 10 for each move proposed",
          .solve = SolveMinLatency,
          .modes = {LatencyModes("least latency of one micro-batch, inference and training with BACKWARD operators: "
                                 "subgraphs of accelerators one after the other, CPUs as one pool")}};
}

}  // namespace planwright
