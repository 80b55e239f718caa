// Which operators of a stage are computed again: enough to save some bytes, in no more than some time.
#ifndef PLANWRIGHT_CORE_JOINT_ROUNDROBIN_AGAIN_CHOICE_H_
#define PLANWRIGHT_CORE_JOINT_ROUNDROBIN_AGAIN_CHOICE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/polling.h"

namespace planwright {

struct AgainItem {
  int32_t op = 0;
  int64_t extra_ps = 0;
  // > 0.
  int64_t saved_bytes = 0;
};

struct AgainChoice {
  // Operators; nullopt: none found.
  std::optional<std::vector<int32_t>> operators;
  // There is none, or none better than the one found.
  bool is_certain = true;
};

enum class AgainAim { kAny, kLeast };

// Whether `a` takes less time for each byte that it saves; of equals, whether it comes first.
bool SavesCheaper(const AgainItem& a, const AgainItem& b);

// Items that save at least `needed_bytes` in at most `most_ps`: any such choice, or the one that takes the least time.
// Ends undecided after 10,000 nodes, or where `poller` says so; kLeast not before the first choice that it finds.
// REQUIRES: needed_bytes > 0.
AgainChoice ChooseAgain(std::vector<AgainItem> items, int64_t needed_bytes, int64_t most_ps, AgainAim aim,
                        Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_ROUNDROBIN_AGAIN_CHOICE_H_
