#include "core/verify/facts/fill.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

namespace planwright {
namespace {

int64_t RoundUp(int64_t count, int64_t multiple) { return (count + multiple - 1) / multiple * multiple; }

// Returns how many micro-batches all replicas of a stage together hold between the start of the forward pass and the
// end of the backward pass, where the stages behind it and their transfers have room for `behind`.
int64_t HeldTogether(const ResolvedProblem& problem, bool through_host, int64_t behind, int64_t replicas) {
  int64_t own = replicas;
  const bool copies_beside = through_host && problem.overlap != Overlap::kSerial;
  if (behind > 0 && copies_beside) own += (problem.overlap == Overlap::kFullDuplex ? 2 : 1) * replicas;
  return RoundUp(behind, replicas) + own;
}

// Micro-batches that all replicas of a stage do in a step.
int64_t OfStep(const ResolvedProblem& problem, int64_t replicas) {
  return problem.replication == Replication::kUniform ? replicas * *problem.micro_batches : *problem.micro_batches;
}

}  // namespace

int64_t TransferSlots(const ResolvedProblem& problem, bool through_host, Picoseconds carried, Picoseconds load) {
  if (problem.overlap == Overlap::kSerial || carried.count() == 0) return 0;
  if (through_host) return 2;
  const bool passes_share_turns = problem.overlap == Overlap::kFullDuplex && problem.schedule != ScheduleKind::kGpipe;
  return passes_share_turns && carried > load ? 2 : 1;
}

std::vector<int32_t> InFlightOf(const ResolvedProblem& problem, bool through_host,
                                const std::vector<JudgedTurns>& stages) {
  const bool alternates =
      problem.schedule == ScheduleKind::kOneFOneB || problem.schedule == ScheduleKind::kPipedreamAsync;
  std::vector<int32_t> in_flight(stages.size());
  int64_t behind = 0;
  for (std::size_t i = stages.size(); i-- > 0;) {
    const auto& [replicas, slots] = stages[i];
    const int64_t held = HeldTogether(problem, through_host, behind, replicas);
    behind = held + slots * replicas;
    int64_t kept = alternates ? held / replicas : 1;
    if (problem.micro_batches.has_value()) {
      const int64_t all = RoundUp(OfStep(problem, replicas), replicas) / replicas;
      kept = alternates ? std::min(kept, all) : all;
    }
    in_flight[i] = static_cast<int32_t>(std::min<int64_t>(kept, std::numeric_limits<int32_t>::max()));
  }
  return in_flight;
}

JudgedStep StepOf(const ResolvedProblem& problem, bool through_host, const std::vector<JudgedTurns>& stages) {
  JudgedStep step{.lanes = 0};
  for (const JudgedTurns& stage : stages) step.lanes = std::gcd(step.lanes, stage.replicas);
  step.micro_batches = OfStep(problem, stages.front().replicas);
  int64_t held = 0;
  int64_t behind = 0;
  for (std::size_t i = stages.size(); i-- > 0;) {
    const int64_t in_lane = stages[i].replicas / step.lanes;
    held = HeldTogether(problem, through_host, behind, in_lane);
    behind = held + stages[i].transfer_slots * in_lane;
  }
  step.turns = RoundUp(step.micro_batches, step.lanes) / step.lanes + held - 1;
  return step;
}

}  // namespace planwright
