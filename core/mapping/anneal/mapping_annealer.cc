#include "core/mapping/anneal/mapping_annealer.h"

#include <algorithm>
#include <cmath>

#include "core/mapping/anneal/mapping_moves.h"
#include "core/mapping/problem/mapping_penalties.h"
#include "core/mapping/problem/mapping_state.h"

namespace planwright {
namespace {

// What a cycle in vain changes.
constexpr double kCycleGrowth = 1.25;
constexpr double kAmbitionDecay = 0.6;
constexpr double kLeastAmbition = 1e-4;
constexpr int64_t kSweepGrowth = 2;
constexpr int64_t kMovesPerBudget = 2048;
constexpr int64_t kMovesPerLook = 256;
// A value this close to the bound is the bound; one this little better is none.
constexpr double kRounding = 1e-9;

// The heat after a cycle in vain: what is as modest as can be begins anew, with longer cycles, to leave the trap.
MappingHeat After(MappingHeat heat, double most_ambition) {
  heat.ambition = std::min(heat.ambition, most_ambition) * kAmbitionDecay;
  heat.cycle_moves = static_cast<int64_t>(static_cast<double>(heat.cycle_moves) * kCycleGrowth);
  if (heat.ambition >= kLeastAmbition) return heat;
  const int64_t first_cycle = heat.first_cycle_moves * kSweepGrowth;
  return {.hot = heat.hot, .cold = heat.cold, .cycle_moves = first_cycle, .first_cycle_moves = first_cycle};
}

class Annealer {
 public:
  Annealer(const MappingTables& tables, const Mapping& start, double bound_ms, const MappingHeat& heat,
           RandomStream& random, const SolveLimits& limits)
      : tables_(tables),
        bound_ms_(bound_ms),
        random_(random),
        limits_(limits),
        state_(tables, start),
        run_{.best = start, .value = Evaluate(tables.instance(), tables.links(), start), .heat = heat},
        penalties_(state_, Target()),
        moves_(state_, penalties_, random) {}

  MappingRun Run(int64_t moves) && {
    while (run_.moves < moves && !IsDone()) {
      const double before = run_.value.value_ms;
      RunCycle(std::min(run_.heat.cycle_moves, moves - run_.moves));
      if (run_.value.value_ms < before) continue;
      run_.heat = After(run_.heat, MostAmbition());
      penalties_.SetTarget(Target());
    }
    return std::move(run_);
  }

 private:
  // Half of the gap, relative to the value: what the bound allows is seldom there.
  double MostAmbition() const { return (1 - bound_ms_ / run_.value.value_ms) / 2; }
  double Target() const { return run_.value.value_ms * (1 - std::min(run_.heat.ambition, MostAmbition())); }
  bool IsDone() const { return is_stopped_ || run_.value.value_ms <= bound_ms_ * (1 + kRounding); }

  void RunCycle(int64_t moves) {
    const int64_t first = run_.moves;
    const double cooling = std::log(run_.heat.cold / run_.heat.hot) / static_cast<double>(moves);
    double temperature = run_.heat.hot;
    while (run_.moves - first < moves && !IsDone()) {
      if (++steps_ % kMovesPerLook == 0) {
        temperature = run_.heat.hot * std::exp(cooling * static_cast<double>(run_.moves - first));
        is_stopped_ = CheckInterruption(limits_).has_value();
        if (steps_ % kMovesPerBudget == 0) penalties_.Rebudget();
      }
      Step(temperature);
    }
  }

  void Step(double temperature) {
    run_.moves += moves_.Propose();
    const double difference = penalties_.Preview();
    if (difference > 0 && random_.Unit() >= std::exp(-difference / temperature)) return state_.Undo();
    penalties_.Accept();
    state_.Accept();
    if (penalties_.IsBelow(run_.value.value_ms * (1 - kRounding))) Record();
  }

  void Record() {
    Mapping mapping = state_.ToMapping();
    const MappingValue value = Evaluate(tables_.instance(), tables_.links(), mapping);
    if (value.value_ms >= run_.value.value_ms) return;
    run_.best = std::move(mapping);
    run_.value = value;
    penalties_.SetTarget(Target());
  }

  const MappingTables& tables_;
  const double bound_ms_;
  RandomStream& random_;
  const SolveLimits& limits_;
  int64_t steps_ = 0;
  bool is_stopped_ = false;
  MappingState state_;
  MappingRun run_;
  MappingPenalties penalties_;
  MappingMoves moves_;
};

}  // namespace

MappingRun AnnealMapping(const MappingTables& tables, const Mapping& start, double bound_ms, const MappingHeat& heat,
                         int64_t moves, RandomStream& random, const SolveLimits& limits) {
  return Annealer(tables, start, bound_ms, heat, random, limits).Run(moves);
}

}  // namespace planwright
