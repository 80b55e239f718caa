// What crosses between stages that follow each other (docs/cost-model.md section 9), one tensor at a time.
#ifndef PLANWRIGHT_CORE_VERIFY_PERIODIC_CUTS_H_
#define PLANWRIGHT_CORE_VERIFY_PERIODIC_CUTS_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/model/problem.h"
#include "core/verify/facts/assignment.h"

namespace planwright {

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

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_PERIODIC_CUTS_H_
