// What takes longer than whoever was told to stop may wait: a library that looks at limits too rarely. Between two
// looks of the simplex method at a large program lies up to a second.
#ifndef PLANWRIGHT_CORE_PARTITION_MIP_LEFT_BEHIND_H_
#define PLANWRIGHT_CORE_PARTITION_MIP_LEFT_BEHIND_H_

#include <functional>

#include "core/base/limits.h"

namespace planwright {

// Runs `work` on a thread of its own. Whether it is done. False: the limits told it to stop, it did not within some
// milliseconds, and it was left behind. So `work` owns all that it touches, and stops by itself at its next look at the
// limits. A process leaves at most four behind at a time, waits for others as long as they take, and for those four at
// its end. What `work` throws is thrown here where it is done; its processor time counts as the caller's.
bool RunOrLeaveBehind(const SolveLimits& limits, const std::function<void()>& work);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_MIP_LEFT_BEHIND_H_
