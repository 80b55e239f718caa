// How the work that a micro-batch makes for a device adds up to its load (docs/cost-model.md sections 3, 6).
#ifndef PLANWRIGHT_CORE_COST_DEVICE_LOAD_H_
#define PLANWRIGHT_CORE_COST_DEVICE_LOAD_H_

#include <cstdint>

#include "core/base/units.h"
#include "core/model/graph.h"
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

  PassWork& of(Pass pass) { return pass == Pass::kForward ? forward : backward; }
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

// How the gradients that replicas reduce add to their loads (docs/cost-model.md section 6).
struct ReductionRule {
  ScheduleKind schedule = ScheduleKind::kSteadyState;
  Overlap overlap = Overlap::kSerial;
  AllReduce::Charge charge = AllReduce::Charge::kPerRound;
};

ReductionRule ReductionRuleOf(const ResolvedProblem& problem);

// Whether replicas reduce gradients in time that counts: TRAINING, unless steps are said to be without limit.
bool ReducesGradients(const ResolvedProblem& problem);

// Loads of each of `replicas` devices that take micro-batches in turn and reduce their gradients for `allreduce`, in
// the limit of many. One reduction belongs to a round of `replicas` micro-batches, in its last phase: SERIAL adds it to
// the undivided load, otherwise it runs beside and the greater one counts; then each phase is divided, rounded up once.
// Charge PER_MICRO_BATCH divides first.
PhaseLoads ReplicaLoads(const PhaseLoads& undivided, int32_t replicas, Picoseconds allreduce,
                        const ReductionRule& rule);

// What a replica is busy for per micro-batch of a step: it does its part of them, ceil(all / replicas), and reduces its
// gradients once. Rounded up once. REQUIRES: micro_batches is set.
Picoseconds ShareOfStep(const ResolvedProblem& problem, const PhaseLoads& undivided, int32_t replicas,
                        Picoseconds allreduce);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_DEVICE_LOAD_H_
