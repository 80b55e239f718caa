#include "core/partition/sequence/sequence_rule.h"

#include <algorithm>
#include <cmath>

namespace planwright {
namespace {

bool StoresActivations(const ResolvedProblem& problem) {
  return problem.workload == Workload::kTraining && problem.memory_model.kind == MemoryModel::Kind::kComponents;
}

int64_t ScaledUp(Picoseconds time, double factor) {
  const double scaled = std::ceil(static_cast<double>(time.count()) * factor);
  return scaled < static_cast<double>(kMaxQuantity) ? static_cast<int64_t>(scaled) : kMaxQuantity;
}

}  // namespace

SequenceRule::SequenceRule(const ResolvedProblem& problem, bool through_host, double forward_share)
    : problem_(problem),
      turns_(TransferTurns::Of(problem, through_host)),
      forward_share_(problem.schedule == ScheduleKind::kGpipe ? forward_share : 0),
      counts_fill_(problem.micro_batches.has_value() || (DrainsEarly(problem.schedule) && StoresActivations(problem))) {
}

PipelineFill SequenceRule::FillOf(int64_t behind, int32_t replicas, const MicroBatchWork& work) const {
  if (!counts_fill_) return {};
  FillFromEnd fill(turns_, behind);
  const int64_t held = fill.HeldBy(replicas);
  fill.Add({replicas, turns_.SlotsOf(work)});
  return {.held = held * replicas, .counted = fill.behind()};
}

int32_t SequenceRule::InFlight(const PipelineFill& fill, int32_t replicas) const {
  return counts_fill_ ? InFlightMicroBatches(problem_, fill.held / replicas, replicas) : 1;
}

int64_t SequenceRule::ValueOf(const MicroBatchWork& work, int32_t replicas, Picoseconds allreduce) const {
  PhaseLoads loads = LoadsOf(work, problem_.schedule, problem_.overlap);
  if (problem_.micro_batches.has_value()) {
    // The step has one all-reduce.
    const Picoseconds share(CeilDivide(allreduce.count(), MicroBatchesOfStep(problem_, replicas)));
    loads = {.main = Picoseconds(CeilDivide(loads.main.count(), replicas)),
             .backward = Picoseconds(CeilDivide(loads.backward.count(), replicas))};
    (problem_.schedule == ScheduleKind::kGpipe ? loads.backward : loads.main) += share;
  } else {
    loads = ReplicaLoads(loads, replicas, allreduce, ReductionRuleOf(problem_));
  }
  if (forward_share_ == 0) return loads.total().count();
  return std::max(ScaledUp(loads.main, 1 / forward_share_), ScaledUp(loads.backward, 1 / (1 - forward_share_)));
}

int64_t SequenceRule::Estimate(int64_t value, int64_t held, int32_t common) const {
  if (!problem_.micro_batches.has_value()) return value;
  const auto all = static_cast<double>(MicroBatchesOfStep(problem_, common));
  const double turns = all + static_cast<double>(std::max<int64_t>(0, held - common));
  return ScaledUp(Picoseconds(value), turns / all);
}

}  // namespace planwright
