#include "core/cost/device_load.h"

#include <algorithm>

#include "core/cost/pipeline_fill.h"

namespace planwright {
namespace {

Picoseconds Share(Picoseconds load, int32_t replicas) { return Picoseconds(CeilDivide(load.count(), replicas)); }

}  // namespace

Picoseconds LoadOf(const PassWork& work, Overlap overlap) {
  switch (overlap) {
    case Overlap::kSerial:
      return work.in + work.compute + work.out;
    case Overlap::kOverlapped:
      return std::max(work.compute, work.in + work.out);
    case Overlap::kFullDuplex:
      break;
  }
  return std::max({work.in, work.compute, work.out});
}

PhaseLoads LoadsOf(const MicroBatchWork& work, ScheduleKind schedule, Overlap overlap) {
  if (schedule != ScheduleKind::kGpipe) {
    PassWork both = work.forward;
    both += work.backward;
    return {.main = LoadOf(both, overlap)};
  }
  return {.main = LoadOf(work.forward, overlap), .backward = LoadOf(work.backward, overlap)};
}

ReductionRule ReductionRuleOf(const ResolvedProblem& problem) {
  return {problem.schedule, problem.overlap, problem.allreduce.charge};
}

bool ReducesGradients(const ResolvedProblem& problem) {
  const bool is_endless = problem.allreduce.amortize_over_micro_batches && !problem.micro_batches.has_value();
  return problem.workload == Workload::kTraining && !is_endless;
}

PhaseLoads ReplicaLoads(const PhaseLoads& undivided, int32_t replicas, Picoseconds allreduce,
                        const ReductionRule& rule) {
  PhaseLoads loads = undivided;
  Picoseconds& last = rule.schedule == ScheduleKind::kGpipe ? loads.backward : loads.main;
  const auto reduce = [&] { last = rule.overlap == Overlap::kSerial ? last + allreduce : std::max(last, allreduce); };
  const bool is_per_round = rule.charge == AllReduce::Charge::kPerRound;
  if (is_per_round) reduce();
  loads = {.main = Share(loads.main, replicas), .backward = Share(loads.backward, replicas)};
  if (!is_per_round) reduce();
  return loads;
}

Picoseconds ShareOfStep(const ResolvedProblem& problem, const PhaseLoads& undivided, int32_t replicas,
                        Picoseconds allreduce) {
  const int64_t all = MicroBatchesOfStep(problem, replicas);
  const int64_t busy = SaturatingMultiply(CeilDivide(all, replicas), undivided.total().count());
  return Picoseconds(CeilDivide(SaturatingAdd(busy, allreduce.count()), all));
}

}  // namespace planwright
