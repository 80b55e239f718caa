#include "core/partition/search/load_rule.h"

namespace planwright {
namespace {

PhaseLoads LoadsUnder(const LoadRule& rule, ScheduleKind schedule, const ReplicaWork& stage, int64_t replicas) {
  return ReplicaLoads(LoadsOf(stage.work, schedule, rule.overlap), static_cast<int32_t>(replicas),
                      Picoseconds(rule.AllReduceLoad(stage.parameter_bytes, replicas)),
                      {schedule, rule.overlap, rule.charge()});
}

}  // namespace

int64_t LoadRule::AllReduceLoad(int64_t parameter_bytes, int64_t replicas) const {
  if (replicas <= 1 || !ring.has_value()) return 0;
  return AllReduceTime(parameter_bytes, static_cast<int32_t>(replicas), ring->speed, ring->factor).count();
}

int64_t LoadRule::UndividedAllReduce(int64_t parameter_bytes, int64_t replicas) const {
  return ring.has_value() ? ring->OfRound(AllReduceLoad(parameter_bytes, replicas), replicas) : 0;
}

int64_t LoadRule::Load(const ReplicaWork& stage, int64_t replicas) const {
  const ScheduleKind schedule = forward_cap.has_value() ? ScheduleKind::kGpipe : ScheduleKind::kSteadyState;
  const PhaseLoads loads = LoadsUnder(*this, schedule, stage, replicas);
  if (!forward_cap.has_value()) return loads.main.count();
  return loads.main.count() <= *forward_cap ? loads.backward.count() : kNone;
}

PhaseLoads LoadRule::LoadsByPhase(const ReplicaWork& stage, int64_t replicas) const {
  return LoadsUnder(*this, has_phases ? ScheduleKind::kGpipe : ScheduleKind::kSteadyState, stage, replicas);
}

int64_t LoadRule::AdditiveLoad(int64_t undivided, int64_t parameter_bytes, int64_t replicas) const {
  return CeilDivide(SaturatingAdd(undivided, UndividedAllReduce(parameter_bytes, replicas)), replicas);
}

int64_t LoadRule::TotalBudget(int64_t max_load) const {
  // One, two or three activities of a device each keep within the load.
  int64_t activities = 3;
  if (overlap == Overlap::kSerial) activities = 1;
  if (overlap == Overlap::kOverlapped) activities = 2;
  return SaturatingMultiply(activities, ComputeBudget(max_load));
}

}  // namespace planwright
