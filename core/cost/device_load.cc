#include "core/cost/device_load.h"

#include <algorithm>

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

PhaseLoads ReplicaLoads(const PhaseLoads& undivided, int32_t replicas, Picoseconds allreduce, ScheduleKind schedule,
                        Overlap overlap) {
  PhaseLoads loads{.main = Share(undivided.main, replicas), .backward = Share(undivided.backward, replicas)};
  Picoseconds& last = schedule == ScheduleKind::kGpipe ? loads.backward : loads.main;
  last = overlap == Overlap::kSerial ? last + allreduce : std::max(last, allreduce);
  return loads;
}

Picoseconds StepTime(int32_t micro_batches, std::size_t num_stages, const PhaseLoads& greatest, Picoseconds allreduce) {
  const int64_t turns = int64_t{micro_batches} + static_cast<int64_t>(num_stages) - 1;
  return Picoseconds(SaturatingAdd(SaturatingMultiply(turns, greatest.total().count()), allreduce.count()));
}

Picoseconds ShareOfStep(Picoseconds time, int32_t micro_batches, int32_t replicas) {
  return Picoseconds(CeilDivide(time.count(), int64_t{micro_batches} * replicas));
}

}  // namespace planwright
