#include "core/partition/stage_annealing/stage_annealing.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/partition/search/search_record.h"
#include "core/partition/stage_annealing/pipeline_annealer.h"
#include "core/partition/stage_annealing/pipeline_starts.h"
#include "core/partition/stage_annealing/pipeline_tables.h"

namespace planwright {
namespace {

constexpr char kName[] = "stage_annealing";
// As many runs at a time, so that the number of threads changes nothing.
constexpr std::size_t kBatch = 4;
// Moves of the first runs, and how those of the next batches grow.
constexpr double kFirstMoves = 1500;
constexpr double kFirstMovesPerBlock = 8;
constexpr double kGrowth = 1.12;
constexpr double kMostMoves = 1'000'000;
// Every so many runs one starts afresh; pipelines of many blocks are rather mended.
constexpr int64_t kManyPairs = 4096;
constexpr int64_t kRunsPerFreshOne = 2;
constexpr int64_t kRunsPerFreshLargeOne = 4;
// Work without a limit of its own, for each block and device.
constexpr int64_t kWorkPerPair = 100'000;
constexpr int64_t kMostWork = 120'000'000;
// A random pipeline that is none, for want of devices of one class, counts for more than it takes: the next one will
// hardly be better.
constexpr int64_t kWorkOfNoStart = 4000;
// Heat of runs from the incumbent, and of those from a random pipeline, between these: hot ones all end where most
// pipelines lead to, cool ones near where they begin.
struct HeatRange {
  double coolest;
  double hottest;
};
constexpr HeatRange kMendingHeat = {0.0005, 0.2};
constexpr HeatRange kFreshHeat = {0.005, 0.3};

class StageAnnealing {
 public:
  StageAnnealing(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                 const SearchCallbacks& callbacks)
      : request_(request),
        limits_(limits),
        arena_(arena),
        callbacks_(callbacks),
        tables_(request),
        record_(kName, request.options.relative_gap, callbacks),
        seed_(static_cast<uint64_t>(request.options.seed)) {
    work_limit_ = std::min(limits.work, request.options.work_limit.value_or(DefaultWork()));
  }

  absl::StatusOr<SearchOutcome> Run() {
    callbacks_.on_phase(kName);
    for (const SearchStart& start : request_.starts) {
      if (!record_.Offer(start.placement, start.made_by)) continue;
      std::optional<Pipeline> pipeline = tables_.PipelineOf(start.placement);
      if (pipeline.has_value()) incumbent_ = *std::move(pipeline);
    }
    while (record_.work() < work_limit_ && !CheckInterruption(limits_).has_value() && !is_perfect()) RunBatch();
    record_.counters()["moves"] = moves_;
    record_.counters()["runs"] = runs_;
    record_.ReportWork();
    record_.set_stop_reason(StopReasonOf(limits_, HasSpentLimit() ? StopReason::kWorkLimit : StopReason::kExhausted));
    return std::move(record_).Finish(
        "annealing found no stages that fit; allow more work, or devices with more memory");
  }

 private:
  struct Task {
    bool is_fresh = false;
    PipelineHeat heat;
    uint64_t stream = 0;
    int64_t moves = 0;
    int64_t work = 0;
    PipelineRun run;
  };

  int64_t NumPairs() const { return int64_t{tables_.num_blocks()} * tables_.num_devices(); }
  int64_t DefaultWork() const { return std::min(kMostWork, SaturatingMultiply(NumPairs(), kWorkPerPair)); }
  // The work that it was given, not that which it gives itself.
  bool HasSpentLimit() const {
    const int64_t given = std::min(limits_.work, request_.options.work_limit.value_or(limits_.work));
    return given == work_limit_ && record_.work() >= given;
  }
  // Nothing takes any time.
  bool is_perfect() const { return record_.has_placement() && record_.objective() == Picoseconds(0); }

  void RunBatch() {
    std::vector<Task> batch(kBatch);
    for (Task& task : batch) Prepare(task);
    arena_.ParallelFor(batch.size(), 1, [&](std::size_t i) { Anneal(batch[i]); });
    for (Task& task : batch) Merge(task);
  }

  void Prepare(Task& task) {
    const double growth = std::pow(kGrowth, static_cast<double>(runs_ / static_cast<int64_t>(kBatch)));
    task.moves =
        static_cast<int64_t>(std::min(kMostMoves, (kFirstMoves + kFirstMovesPerBlock * tables_.num_blocks()) * growth));
    task.work = (work_limit_ - record_.work()) / static_cast<int64_t>(kBatch) + 1;
    const int64_t runs_per_fresh_one = NumPairs() < kManyPairs ? kRunsPerFreshOne : kRunsPerFreshLargeOne;
    task.is_fresh = !incumbent_.has_value() || runs_ % runs_per_fresh_one == 1;
    task.stream = static_cast<uint64_t>(++runs_);
  }

  void Anneal(Task& task) const {
    RandomStream random(seed_, task.stream);
    task.heat.smoothness = 0.05 + 0.45 * random.Unit();
    task.heat.keeps_stages = random.Below(2) == 0;
    const HeatRange& range = task.is_fresh ? kFreshHeat : kMendingHeat;
    task.heat.hot = range.coolest * std::pow(range.hottest / range.coolest, random.Unit());
    const Pipeline start = task.is_fresh ? RandomPipeline(tables_, random) : *incumbent_;
    if (start.stages.empty()) {
      task.run.work = kWorkOfNoStart;
      return;
    }
    const Picoseconds to_beat = record_.has_placement() ? record_.objective() : Picoseconds(kMaxQuantity);
    task.run = AnnealPipeline(tables_, start, to_beat, task.heat, task.moves, task.work, random, limits_);
  }

  void Merge(Task& task) {
    moves_ += task.run.moves;
    record_.AddWork(task.run.work);
    if (!task.run.best.has_value()) return;
    const Placement placement = tables_.PlacementOf(*task.run.best);
    if (!callbacks_.objection(placement).empty()) return;
    if (record_.Offer(placement, kName)) incumbent_ = std::move(task.run.best);
  }

  const SearchRequest& request_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  const SearchCallbacks& callbacks_;
  const PipelineTables tables_;
  SearchRecord record_;
  const uint64_t seed_;
  int64_t work_limit_ = 0;
  std::optional<Pipeline> incumbent_;
  int64_t moves_ = 0;
  int64_t runs_ = 0;
};

}  // namespace

absl::StatusOr<SearchOutcome> SolveByStageAnnealing(const SearchRequest& request, const SolveLimits& limits,
                                                    TaskArena& arena, const SearchCallbacks& callbacks) {
  return StageAnnealing(request, limits, arena, callbacks).Run();
}

AlgorithmRow StageAnnealingRow() {
  return {.algorithm = Algorithm::kStageAnnealing,
          .name = kName,
          .version = "1",
          .description = "simulated annealing of contiguous stages and their devices on the true objective",
          .work_unit = "about 10 ns: a block, an end of a tensor or a pair of replicas looked at",
          .solve = SolveByStageAnnealing,
          .modes = PipelineModes("contiguous stages and their devices, annealed"),
          .heeds = HeedsEverySetting};
}

}  // namespace planwright
