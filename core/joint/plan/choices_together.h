// Choices that do not go together, whatever the memory: what a person has to hear before any word of devices.
#ifndef PLANWRIGHT_CORE_JOINT_PLAN_CHOICES_TOGETHER_H_
#define PLANWRIGHT_CORE_JOINT_PLAN_CHOICES_TOGETHER_H_

#include <optional>

#include "core/base/infeasibility.h"
#include "core/joint/search/joint_search.h"

namespace planwright {

// Why no pipeline of `request` can be, by arithmetic alone: of the layers, the batch, the degrees, the schedules or the
// devices. Of several rules the one that the choices which come furthest break. nullopt: some choices go together, so
// that it is memory that is short. O(divisors of the batch x degrees x layers).
std::optional<Shortage> WhyNoneGoTogether(const JointRequest& request);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLAN_CHOICES_TOGETHER_H_
