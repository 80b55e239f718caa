// Whether a periodic pattern can be run: what it must hold, what it may not overlap, and what it stores
// (docs/cost-model.md sections 7 and 9).
#ifndef PLANWRIGHT_CORE_VERIFY_PERIODIC_PATTERN_H_
#define PLANWRIGHT_CORE_VERIFY_PERIODIC_PATTERN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/plan.h"
#include "core/model/problem.h"
#include "core/verify/facts/assignment.h"

namespace planwright {

// What crosses between stages that follow each other (docs/cost-model.md section 9), one tensor at a time.
struct JudgedCut {
  // Sums of the transfers of all tensors, or their gradients, that are alive across the cut.
  Picoseconds forward{0};
  Picoseconds backward{0};
  // Sizes of those tensors, each once.
  int64_t bytes = 0;
  // Sizes of those among them that are on the way forward.
  int64_t forward_bytes = 0;
};

// [s]: between the stages s and s + 1, as if they were on different devices. A tensor crosses every cut between its
// producer and its farthest consumer, forward towards later stages and backward towards earlier ones (what BACKWARD
// operators make: always backward); with training by backward times its gradient comes back. REQUIRES: a uniform
// interconnect; a whole structure in linear order. Complexity O(tensor ends + stages).
std::vector<JudgedCut> CutsOf(const ResolvedInput& input, const Assignment& assignment);

// What the pattern is about: durations of its tasks and bytes that they store.
struct JudgedPipeline {
  // By stage: times of its passes, and bytes kept for each micro-batch.
  std::vector<Picoseconds> forward;
  std::vector<Picoseconds> backward;
  std::vector<int64_t> stored_bytes;
  std::vector<JudgedCut> cuts;
};

struct JudgedPattern {
  // By stage, then by operation.
  std::vector<ScheduledTask> tasks;
  // By stage: the most micro-batches that it stores at any time.
  std::vector<int32_t> in_flight;
  // By device of the cluster: the most bytes that its stages store for micro-batches at any time.
  std::vector<int64_t> stored_bytes;
};

// Adds a violation, with a path into "plan.schedule", for every rule that the pattern breaks: each pass of each stage
// and, between different devices, each transfer has one task that starts within the period, the first forward pass with
// shift 0; a micro-batch does one after the other; no device and no link does two things at a time, period after
// period. nullopt: tasks are missing, not known or out of range, so that nothing can be said about memory.
// A micro-batch is stored from the start of the stage's forward pass to the end of its backward pass (INFERENCE: of its
// forward pass); every stage stores one at least. Complexity O(stages log).
// REQUIRES: a whole structure in linear order, one device for each stage.
std::optional<JudgedPattern> CheckPattern(const Cluster& cluster, const ResolvedProblem& problem,
                                          const Assignment& assignment, const JudgedPipeline& pipeline,
                                          const PeriodicPattern& pattern, Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_PERIODIC_PATTERN_H_
