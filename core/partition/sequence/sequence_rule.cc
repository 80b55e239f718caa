#include "core/partition/sequence/sequence_rule.h"

#include <algorithm>
#include <cmath>

namespace planwright {
namespace {

// Stages keep activations only until the backward pass has come back.
bool DrainsEarly(const PlanningProblem& problem) {
  return problem.schedule == ScheduleKind::kOneFOneB || problem.schedule == ScheduleKind::kPipedreamAsync;
}

bool StoresActivations(const PlanningProblem& problem) {
  return *problem.workload == Workload::kTraining && *problem.memory_model.kind == MemoryModel::Kind::kComponents;
}

int64_t ScaledUp(Picoseconds time, double factor) {
  const double scaled = std::ceil(static_cast<double>(time.count()) * factor);
  return scaled < static_cast<double>(kMaxQuantity) ? static_cast<int64_t>(scaled) : kMaxQuantity;
}

}  // namespace

SequenceRule::SequenceRule(const PlanningProblem& problem, bool is_host_staged, double forward_share)
    : problem_(problem),
      is_host_staged_(is_host_staged),
      forward_share_(problem.schedule == ScheduleKind::kGpipe ? forward_share : 0),
      drains_early_(DrainsEarly(problem)),
      counts_fill_(problem.micro_batches.has_value() || (drains_early_ && StoresActivations(problem))) {}

PipelineFill SequenceRule::FillOf(int64_t behind, int32_t replicas, const MicroBatchWork& work) const {
  if (!counts_fill_) return {};
  const Picoseconds coming = work.forward.in + work.backward.out;
  const bool transfers_beside = problem_.overlap != Overlap::kSerial && coming > Picoseconds(0);
  const bool is_gpipe = problem_.schedule == ScheduleKind::kGpipe;
  const bool is_duplex = problem_.overlap == Overlap::kFullDuplex;
  int64_t in_each = CeilDivide(behind + replicas, replicas);
  int64_t slots = 0;
  if (problem_.overlap != Overlap::kSerial && is_host_staged_ && behind > 0) in_each += is_duplex ? 2 : 1;
  if (transfers_beside) {
    const bool takes_long = coming > LoadsOf(work, problem_.schedule, problem_.overlap).total();
    slots = is_host_staged_ || (!is_gpipe && is_duplex && takes_long) ? 2 : 1;
  }
  return {.held = in_each * replicas, .counted = (in_each + slots) * replicas};
}

int64_t SequenceRule::StepMicroBatches(int32_t replicas) const {
  if (!problem_.micro_batches.has_value()) return 0;
  const int64_t given = *problem_.micro_batches;
  return problem_.replication == Replication::kUniform ? given * replicas : given;
}

int64_t SequenceRule::InFlight(const PipelineFill& fill, int32_t replicas) const {
  if (!problem_.micro_batches.has_value()) return drains_early_ && counts_fill_ ? fill.held / replicas : 1;
  const int64_t all = CeilDivide(StepMicroBatches(replicas), replicas);
  return drains_early_ ? std::min(all, fill.held / replicas) : all;
}

int64_t SequenceRule::ValueOf(const MicroBatchWork& work, int32_t replicas, Picoseconds allreduce) const {
  PhaseLoads loads = LoadsOf(work, problem_.schedule, problem_.overlap);
  if (problem_.micro_batches.has_value()) {
    // The step has one all-reduce.
    const Picoseconds share(CeilDivide(allreduce.count(), StepMicroBatches(replicas)));
    loads = {.main = Picoseconds(CeilDivide(loads.main.count(), replicas)),
             .backward = Picoseconds(CeilDivide(loads.backward.count(), replicas))};
    (problem_.schedule == ScheduleKind::kGpipe ? loads.backward : loads.main) += share;
  } else {
    loads = ReplicaLoads(loads, replicas, allreduce, problem_.schedule, problem_.overlap);
  }
  if (forward_share_ == 0) return loads.total().count();
  return std::max(ScaledUp(loads.main, 1 / forward_share_), ScaledUp(loads.backward, 1 / (1 - forward_share_)));
}

int64_t SequenceRule::Estimate(int64_t value, int64_t held, int32_t common) const {
  if (!problem_.micro_batches.has_value()) return value;
  const double all = static_cast<double>(StepMicroBatches(common));
  const double turns = all + static_cast<double>(std::max<int64_t>(0, held - common));
  return ScaledUp(Picoseconds(value), turns / all);
}

}  // namespace planwright
