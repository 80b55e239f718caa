#include "core/cost/pipeline_fill.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/known.h"

namespace planwright {
namespace {

int32_t Narrow(int64_t count) {
  return static_cast<int32_t>(std::min<int64_t>(count, std::numeric_limits<int32_t>::max()));
}

}  // namespace

int32_t TransferTurns::SlotsOf(const MicroBatchWork& work) const {
  const Picoseconds carried = work.forward.in + work.backward.out;
  if (overlap == Overlap::kSerial || carried == Picoseconds(0)) return 0;
  if (through_host) return 2;
  if (has_phases || overlap == Overlap::kOverlapped) return 1;
  return carried <= LoadsOf(work, ScheduleKind::kSteadyState, overlap).total() ? 1 : 2;
}

int32_t TransferTurns::SlotsOfSending() const {
  if (!through_host || overlap == Overlap::kSerial) return 0;
  return overlap == Overlap::kOverlapped ? 1 : 2;
}

int64_t FillFromEnd::HeldBy(int32_t replicas) const {
  const int64_t own = 1 + (behind_ > 0 ? turns_.SlotsOfSending() : 0);
  return CeilDivide(behind_, replicas) + own;
}

int64_t MicroBatchesOfStep(const ResolvedProblem& problem, int32_t replicas) {
  const int64_t copies = problem.replication == Replication::kUniform ? replicas : 1;
  return copies * Known(problem.micro_batches);
}

int32_t InFlightMicroBatches(const ResolvedProblem& problem, int64_t held, int32_t replicas) {
  if (!problem.micro_batches.has_value()) return DrainsEarly(problem.schedule) ? Narrow(held) : 1;
  const int64_t own = CeilDivide(MicroBatchesOfStep(problem, replicas), replicas);
  return Narrow(DrainsEarly(problem.schedule) ? std::min(held, own) : own);
}

int32_t InFlightMicroBatches(const ResolvedProblem& problem, std::size_t stages_behind) {
  return InFlightMicroBatches(problem, static_cast<int64_t>(stages_behind) + 1, 1);
}

Picoseconds StepTurns::TimeOf(Picoseconds load, int32_t replicas) const {
  return Picoseconds(CeilDivide(SaturatingMultiply(count, load.count()), replicas / side_by_side));
}

StepTurns TurnsOfStep(const ResolvedProblem& problem, const TransferTurns& turns, std::span<const StageTurns> stages) {
  int64_t divisor = stages.front().replicas;
  for (const StageTurns& stage : stages) divisor = std::gcd(divisor, int64_t{stage.replicas});
  FillFromEnd fill(turns);
  for (std::size_t i = stages.size(); i > 1; --i) {
    fill.Add({static_cast<int32_t>(stages[i - 1].replicas / divisor), stages[i - 1].slots});
  }
  const auto first = static_cast<int32_t>(stages.front().replicas / divisor);
  fill.Add({first, 0});
  const int64_t micro_batches = MicroBatchesOfStep(problem, stages.front().replicas);
  return {CeilDivide(micro_batches, divisor) + fill.behind() - 1, divisor};
}

}  // namespace planwright
