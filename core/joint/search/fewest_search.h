// How few devices do: 1F1B pipelines that take at most so long, or that fit, on the fewest devices from the end of a
// row of nodes alike.
//
// How deep in the row a label is says how many devices it takes, so that one pass answers for every number of devices,
// whole nodes and part of one more before them. Families are looked at in the order of the fewest devices that work and
// memory leave them, and within a family intervals of the longest stage in the order of the same bound; each is closed
// by a pass or halved, until none may take fewer devices than are known (docs/joint-search.md, section 4).
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_FEWEST_SEARCH_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_FEWEST_SEARCH_H_

#include <cstdint>
#include <optional>

#include "core/base/limits.h"
#include "core/joint/search/joint_search.h"
#include "core/model/joint.h"

namespace planwright {

struct FewestOutcome {
  // Not costed, at the end of the row: it takes the last `devices` devices. nullopt: none was found.
  std::optional<JointPlan> plan;
  // Those of the plan; without one, one more than may be taken.
  int64_t devices = 0;
  // It is proven that no pipeline takes fewer.
  bool is_proven = false;
};

// Whether what holds a pipeline of any order that may be chosen holds one of 1F1B, which must be among them: all but
// INTERLEAVED of layers that differ between the first and the last, whose chunks may share a device as no stage could.
bool PlainHoldsWhatOthersDo(const JointRequest& request);

// The 1F1B pipelines of `request` on at most `most_devices` devices whose closed form is at most `most_ps`; nullopt:
// that fit, whatever they take. Steps beyond kLongestStepPs (families.h) are left out, which is no proof.
// REQUIRES: 1F1B may be chosen; one class of devices and no groups of nodes, or nothing is asked of the time and
// `most_devices` are all.
FewestOutcome SearchFewestDevices(const JointRequest& request, std::optional<int64_t> most_ps, int64_t most_devices,
                                  const SolveLimits& limits);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_FEWEST_SEARCH_H_
