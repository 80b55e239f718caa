#include "core/partition/stage_annealing/pipeline_costs.h"

#include <algorithm>
#include <cmath>
namespace planwright {
namespace {

// The greatest of several times and, more softly, their norm of order 8.
class Greatest {
 public:
  void Add(Picoseconds time) {
    greatest_ = std::max(greatest_, time);
    const auto value = static_cast<double>(time.count());
    const double square = value * value;
    const double fourth = square * square;
    sum_ += fourth * fourth;
  }
  Picoseconds exact() const { return greatest_; }
  double smooth() const { return std::sqrt(std::sqrt(std::sqrt(sum_))); }

 private:
  Picoseconds greatest_{0};
  double sum_ = 0;
};

double OverflowOf(const PipelineStageCosts& stage, int32_t in_flight) {
  const int64_t bytes = SaturatingAdd(stage.fixed_bytes, SaturatingMultiply(stage.kept_bytes, in_flight));
  if (bytes <= stage.limit_bytes) return 0;
  return static_cast<double>(bytes - stage.limit_bytes) / static_cast<double>(std::max<int64_t>(1, stage.limit_bytes));
}

}  // namespace

PhaseLoads PipelineCosting::LoadsOf(const PipelineStageCosts& stage) const {
  if (!problem_.micro_batches.has_value()) return stage.replica;
  const int32_t replicas = stage.turns.replicas;
  return {.main = step_.TimeOf(stage.undivided.main, replicas),
          .backward = step_.TimeOf(stage.undivided.backward, replicas)};
}

void PipelineCosting::AddMemory(std::span<const PipelineStageCosts* const> stages, PipelineCosts& costs) const {
  if (!memory_varies_) {
    for (const PipelineStageCosts* stage : stages) costs.overflow += OverflowOf(*stage, 0);
    return;
  }
  FillFromEnd fill(turns_);
  for (std::size_t i = stages.size(); i > 0; --i) {
    const PipelineStageCosts& stage = *stages[i - 1];
    const int32_t replicas = stage.turns.replicas;
    costs.overflow += OverflowOf(stage, InFlightMicroBatches(problem_, fill.HeldBy(replicas), replicas));
    fill.Add(stage.turns);
  }
}

PipelineCosts PipelineCosting::CostsOf(std::span<const PipelineStageCosts* const> stages) {
  const bool counts_steps = problem_.micro_batches.has_value();
  if (counts_steps) {
    stage_turns_.clear();
    for (const PipelineStageCosts* stage : stages) stage_turns_.push_back(stage->turns);
    step_ = TurnsOfStep(problem_, turns_, stage_turns_);
  }
  PipelineCosts costs;
  Greatest main;
  Greatest backward;
  Greatest allreduce;
  Picoseconds busiest{-1};
  for (std::size_t position = 0; position < stages.size(); ++position) {
    const PhaseLoads loads = LoadsOf(*stages[position]);
    main.Add(loads.main);
    backward.Add(loads.backward);
    allreduce.Add(stages[position]->allreduce);
    if (loads.total() > busiest) {
      busiest = loads.total();
      costs.busiest = position;
    }
    costs.misplaced += stages[position]->misplaced;
  }
  AddMemory(stages, costs);
  costs.objective = main.exact() + backward.exact();
  costs.smooth = main.smooth() + backward.smooth();
  if (!counts_steps) return costs;
  const int64_t micro_batches = MicroBatchesOfStep(problem_, stages.front()->turns.replicas);
  const int64_t step = SaturatingAdd(costs.objective.count(), allreduce.exact().count());
  costs.objective = Picoseconds(CeilDivide(step, micro_batches));
  costs.smooth = (costs.smooth + allreduce.smooth()) / static_cast<double>(micro_batches);
  return costs;
}

}  // namespace planwright
