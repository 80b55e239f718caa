// Whether another division of the model into layers has a better plan than one that is known.
#ifndef PLANWRIGHT_CORE_JOINT_PLAN_OTHER_LAYERS_H_
#define PLANWRIGHT_CORE_JOINT_PLAN_OTHER_LAYERS_H_

#include <cstdint>

#include "core/base/limits.h"
#include "core/joint/plan/joint_planning.h"

namespace planwright {

struct OtherLayers {
  bool has_better = false;
  // No plan with these layers takes less; at most what is known.
  int64_t step_bound_ps = 0;
  int64_t simulated_bound_ps = 0;
  bool is_interrupted = false;
};

// `step_ps`, `simulated_ps`: of the known plan. REQUIRES: `question` is of a cluster that is no network.
OtherLayers LookAtOtherLayers(const JointQuestion& question, int64_t step_ps, int64_t simulated_ps,
                              const SolveLimits& limits);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLAN_OTHER_LAYERS_H_
