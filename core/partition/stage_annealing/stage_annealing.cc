#include "core/partition/stage_annealing/stage_annealing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/known.h"
#include "core/base/random.h"
#include "core/base/units.h"
#include "core/partition/search/search_record.h"
#include "core/partition/stage_annealing/pipeline_moves.h"
#include "core/partition/stage_annealing/pipeline_starts.h"
#include "core/partition/stage_annealing/pipeline_state.h"
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

// Temperature of the last move, as a share of the objective.
constexpr double kFinalHeat = 2e-4;
constexpr int64_t kMovesPerTemperature = 64;
// What a move takes beside what it looks at.
constexpr int64_t kWorkPerMove = 10;
// Work between two looks at the clock: some tens of microseconds.
constexpr int64_t kWorkPerLook = 4096;
// What is not feasible costs, in objectives: memory as large again as the limit, a block where it may not be, a stage
// too many.
constexpr double kOverflowCost = 2;
constexpr double kMisplacedCost = 0.3;
constexpr double kShapeCost = 0.3;
// By how much that grows from the first move to the last.
constexpr double kPenaltyGrowth = 10;

struct PipelineHeat {
  // Temperature of the first move, as a share of the objective.
  double hot = 0.1;
  // Share of the norm in the energy.
  double smoothness = 0.3;
  // Pipelines with as many stages as the start cost less than others: few stages with little to send, and many with
  // little to do, lie far apart.
  bool keeps_stages = false;
};

struct PipelineRun {
  // The best feasible pipeline below the objective to beat; nullopt: none.
  std::optional<Pipeline> best;
  Picoseconds objective{0};
  int64_t moves = 0;
  // As PipelineState::work, and 10 for each move.
  int64_t work = 0;
};

// One run of simulated annealing over pipelines.
//
// The energy is the objective, in part with a norm in place of the greatest load, so that it says of pipelines of equal
// objective which one is nearer to a better one; memory beyond the limits, blocks on devices that may not hold them and
// other numbers of stages than asked for cost more and more of it as the run goes on. Source of the method:
// Kirkpatrick, Gelatt, Vecchi: Optimization by simulated annealing, 1983.
class Annealer {
 public:
  Annealer(const PipelineTables& tables, const Pipeline& start, Picoseconds to_beat, const PipelineHeat& heat,
           RandomStream& random)
      : heat_(heat),
        random_(random),
        state_(tables, start),
        stages_at_start_(state_.num_stages()),
        moves_(tables, state_, random) {
    run_.objective = to_beat;
    const double own = std::max(1.0, state_.costs().smooth);
    scale_ = std::min(own, std::max(1.0, static_cast<double>(to_beat.count())));
    NoteIfBest();
  }

  // Ends after `moves`, or when the work is used up or the limits say stop.
  PipelineRun Run(int64_t moves, int64_t work, const SolveLimits& limits) {
    for (int64_t next_look = 0; run_.moves < moves && Work() < work;) {
      if (Work() >= next_look) {
        if (CheckInterruption(limits).has_value()) break;
        next_look = Work() + kWorkPerLook;
      }
      if (run_.moves % kMovesPerTemperature == 0) {
        CoolDown(static_cast<double>(run_.moves) / static_cast<double>(moves));
      }
      ++run_.moves;
      Step();
    }
    run_.work = Work();
    return std::move(run_);
  }

 private:
  int64_t Work() const { return state_.work() + kWorkPerMove * run_.moves; }

  void CoolDown(double progress) {
    temperature_ = scale_ * heat_.hot * std::pow(kFinalHeat / heat_.hot, progress);
    penalty_ = scale_ * (1 + (kPenaltyGrowth - 1) * progress);
    energy_ = EnergyOf(state_.costs());
  }

  // Of the pipeline as it stands.
  double EnergyOf(const PipelineCosts& costs) const {
    const auto objective = static_cast<double>(costs.objective.count());
    const double excess = kOverflowCost * costs.overflow + kMisplacedCost * static_cast<double>(costs.misplaced) +
                          kShapeCost * static_cast<double>(state_.misshapen() + StagesAstray());
    return objective + heat_.smoothness * (costs.smooth - objective) + penalty_ * excess;
  }

  int64_t StagesAstray() const { return heat_.keeps_stages ? std::abs(state_.num_stages() - stages_at_start_) : 0; }

  void Step() {
    if (!moves_.Propose()) return state_.Undo();
    const double energy = EnergyOf(state_.Evaluate());
    if (energy > energy_ && random_.Unit() >= std::exp((energy_ - energy) / temperature_)) return state_.Undo();
    state_.Keep();
    energy_ = energy;
    NoteIfBest();
  }

  void NoteIfBest() {
    if (state_.costs().objective >= run_.objective || !state_.is_feasible()) return;
    run_.best = state_.pipeline();
    run_.objective = state_.costs().objective;
    scale_ = std::min(scale_, std::max(1.0, static_cast<double>(run_.objective.count())));
  }

  const PipelineHeat heat_;
  RandomStream& random_;
  PipelineState state_;
  const int32_t stages_at_start_;
  PipelineMoves moves_;
  PipelineRun run_;
  double scale_ = 1;
  double temperature_ = 0;
  double penalty_ = 0;
  double energy_ = 0;
};

class StageAnnealing : RecordedSearch {
 public:
  StageAnnealing(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                 const SearchCallbacks& callbacks)
      : RecordedSearch(kName, request, limits, arena, callbacks),
        tables_(request),
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
    const int64_t growths = runs_ / static_cast<int64_t>(kBatch);
    const double growth = std::pow(kGrowth, static_cast<double>(growths));
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
    const Pipeline start = task.is_fresh ? RandomPipeline(tables_, random) : Known(incumbent_);
    if (start.stages.empty()) {
      task.run.work = kWorkOfNoStart;
      return;
    }
    const Picoseconds to_beat = record_.has_placement() ? record_.objective() : Picoseconds(kMaxQuantity);
    task.run = Annealer(tables_, start, to_beat, task.heat, random).Run(task.moves, task.work, limits_);
  }

  void Merge(Task& task) {
    moves_ += task.run.moves;
    record_.AddWork(task.run.work);
    if (!task.run.best.has_value()) return;
    const Placement placement = tables_.PlacementOf(*task.run.best);
    if (!callbacks_.objection(placement).empty()) return;
    if (record_.Offer(placement, kName)) incumbent_ = std::move(task.run.best);
  }

  const PipelineTables tables_;
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
          .version = "2",
          .description = "simulated annealing of contiguous stages and their devices on the true objective",
          .work_unit = "about 10 ns: a block, an end of a tensor or a pair of replicas looked at",
          .solve = SolveByStageAnnealing,
          .modes = PipelineModes("contiguous stages and their devices, annealed"),
          .heeds = HeedsEverySetting};
}

}  // namespace planwright
