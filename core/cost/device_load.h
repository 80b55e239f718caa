// How the work that a micro-batch makes for a device adds up to the load of the device (cost-model.md sections 3, 6).
#ifndef PLANWRIGHT_CORE_COST_DEVICE_LOAD_H_
#define PLANWRIGHT_CORE_COST_DEVICE_LOAD_H_

#include <cstddef>
#include <cstdint>

#include "core/base/units.h"
#include "core/model/problem.h"

namespace planwright {

struct PassWork {
  Picoseconds compute{0};
  Picoseconds in{0};
  Picoseconds out{0};

  PassWork& operator+=(const PassWork& other) {
    compute += other.compute;
    in += other.in;
    out += other.out;
    return *this;
  }
  bool operator==(const PassWork&) const = default;
};

// What one micro-batch makes a device do.
struct MicroBatchWork {
  PassWork forward;
  PassWork backward;

  MicroBatchWork& operator+=(const MicroBatchWork& other) {
    forward += other.forward;
    backward += other.backward;
    return *this;
  }
  bool operator==(const MicroBatchWork&) const = default;
};

// Load in each phase of the schedule. GPIPE runs all forward passes, then all backward passes; every other schedule
// mixes the passes: its only phase is `main`, and `backward` stays 0. So for all of them
//   load of a device = main + backward,   objective = max over devices of main + max over devices of backward.
struct PhaseLoads {
  Picoseconds main{0};
  Picoseconds backward{0};

  Picoseconds total() const { return main + backward; }
};

// SERIAL: in + compute + out. OVERLAPPED: max(compute, in + out). FULL_DUPLEX: max(in, compute, out).
Picoseconds LoadOf(const PassWork& work, Overlap overlap);

// Loads of a device that does every micro-batch.
PhaseLoads LoadsOf(const MicroBatchWork& work, ScheduleKind schedule, Overlap overlap);

// Loads of a device that does one of `replicas` micro-batches and reduces its gradients for `allreduce`, in the last
// phase: each phase is divided once, rounded up; SERIAL adds the all-reduce, otherwise it runs beside and the greater
// one counts.
PhaseLoads ReplicaLoads(const PhaseLoads& undivided, int32_t replicas, Picoseconds allreduce, ScheduleKind schedule,
                        Overlap overlap);

// A step of `micro_batches` M on `num_stages` S stages in turn, with the gradients reduced at its end:
//   (M + S - 1) x greatest undivided load + greatest all-reduce
// (Parmesan, section 3). `greatest`: over all stages, of each phase.
Picoseconds StepTime(int32_t micro_batches, std::size_t num_stages, const PhaseLoads& greatest, Picoseconds allreduce);

// What one micro-batch of a step has of `time`: R replicas do M micro-batches each. Rounded up once.
Picoseconds ShareOfStep(Picoseconds time, int32_t micro_batches, int32_t replicas);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_DEVICE_LOAD_H_
