// Who pays for the tensors that cross between devices (docs/cost-model.md sections 4 and 5), one tensor at a time.
#ifndef PLANWRIGHT_CORE_VERIFY_CHARGES_H_
#define PLANWRIGHT_CORE_VERIFY_CHARGES_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/model/plan.h"
#include "core/model/problem.h"
#include "core/verify/facts/assignment.h"

namespace planwright {

// What a device does for one micro-batch in one pass.
struct PassLoad {
  Picoseconds in{0};
  Picoseconds compute{0};
  Picoseconds out{0};

  PassLoad& operator+=(const PassLoad& other);
};

struct JudgedWork {
  PassLoad forward;
  PassLoad backward;

  JudgedWork& operator+=(const JudgedWork& other);
};

struct JudgedTraffic {
  // [stage][replica]: what the replica pays if it does every micro-batch; compute is 0.
  std::vector<std::vector<JudgedWork>> replicas;
  // By stage: the sizes of the tensors that are booked at it, added up, each once.
  std::vector<int64_t> boundary_bytes;
  // Ascending by their ends; empty for host_staged.
  std::vector<LinkUsage> links;
};

// A device pays as if its stages were one, but for MIN_LATENCY each stage for itself. What a device pays is booked at
// the producer's stage, or at the first of its stages that consumes the tensor. Between replicated stages micro-batch n
// goes from replica n mod r to replica n mod r', so a replica pays the mean over those that it meets, rounded up for
// each pair of stages, direction and pass; a link carries one micro-batch of lcm(r, r'), rounded up for each pair of
// stages. REQUIRES: host_staged, uniform or hierarchy; a whole structure. Complexity O(tensor ends log + pairs of
// replicas of each tensor).
JudgedTraffic ChargeTensors(const ResolvedInput& input, const Assignment& assignment);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_CHARGES_H_
