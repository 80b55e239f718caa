#include "core/partition/stage_annealing/pipeline_costs.h"

#include <algorithm>
#include <cmath>

#include "core/cost/stage_memory.h"

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

PhaseLoads LoadsOf(const PlanningProblem& problem, const StageCosts& stage) {
  if (problem.micro_batches.has_value()) return stage.undivided;
  return ReplicaLoads(stage.undivided, stage.replicas, stage.allreduce, problem.schedule, problem.overlap);
}

double OverflowOf(const StageCosts& stage, int32_t in_flight) {
  const int64_t bytes = SaturatingAdd(stage.fixed_bytes, SaturatingMultiply(stage.kept_bytes, in_flight));
  if (bytes <= stage.limit_bytes) return 0;
  return static_cast<double>(bytes - stage.limit_bytes) / static_cast<double>(std::max<int64_t>(1, stage.limit_bytes));
}

}  // namespace

PipelineCosts CostsOf(const PlanningProblem& problem, const std::vector<const StageCosts*>& stages) {
  PipelineCosts costs;
  Greatest main;
  Greatest backward;
  Greatest allreduce;
  Picoseconds busiest{-1};
  for (std::size_t position = 0; position < stages.size(); ++position) {
    const StageCosts& stage = *stages[position];
    const PhaseLoads loads = LoadsOf(problem, stage);
    main.Add(loads.main);
    backward.Add(loads.backward);
    allreduce.Add(stage.allreduce);
    if (loads.total() > busiest) {
      busiest = loads.total();
      costs.busiest = position;
    }
    costs.overflow += OverflowOf(stage, InFlightMicroBatches(problem, stages.size() - 1 - position));
    costs.misplaced += stage.misplaced;
  }
  const PhaseLoads greatest{.main = main.exact(), .backward = backward.exact()};
  costs.objective = greatest.total();
  costs.smooth = main.smooth() + backward.smooth();
  if (!problem.micro_batches.has_value()) return costs;
  const int32_t micro_batches = *problem.micro_batches;
  const int32_t replicas = stages.front()->replicas;
  costs.objective =
      ShareOfStep(StepTime(micro_batches, stages.size(), greatest, allreduce.exact()), micro_batches, replicas);
  const double turns = static_cast<double>(micro_batches) + static_cast<double>(stages.size()) - 1;
  costs.smooth = (turns * costs.smooth + allreduce.smooth()) / (static_cast<double>(micro_batches) * replicas);
  return costs;
}

}  // namespace planwright
