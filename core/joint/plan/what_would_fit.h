// Why nothing fits, and what would.
#ifndef PLANWRIGHT_CORE_JOINT_PLAN_WHAT_WOULD_FIT_H_
#define PLANWRIGHT_CORE_JOINT_PLAN_WHAT_WOULD_FIT_H_

#include "core/base/infeasibility.h"
#include "core/base/limits.h"
#include "core/joint/search/joint_search.h"

namespace planwright {

// REQUIRES: a search has proven that `request` has no plan. Plans again with choices that the request rules out, and on
// more nodes; minimum_devices is that of its settings, 0 where no number of nodes that was tried holds the model.
Infeasibility WhatWouldFit(const JointRequest& request, const SolveLimits& limits);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLAN_WHAT_WOULD_FIT_H_
