#include "core/partition/stage_annealing/pipeline_annealer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/partition/stage_annealing/pipeline_moves.h"
#include "core/partition/stage_annealing/pipeline_state.h"

namespace planwright {
namespace {

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

  // Returns the energy of a pipeline with these costs: its time, and penalties for what is not feasible.
  double EnergyOf(const PipelineCosts& costs) const {
    const double objective = static_cast<double>(costs.objective.count());
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

}  // namespace

PipelineRun AnnealPipeline(const PipelineTables& tables, const Pipeline& start, Picoseconds to_beat,
                           const PipelineHeat& heat, int64_t moves, int64_t work, RandomStream& random,
                           const SolveLimits& limits) {
  return Annealer(tables, start, to_beat, heat, random).Run(moves, work, limits);
}

}  // namespace planwright
