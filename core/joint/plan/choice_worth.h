// The choices of a joint plan that others could do without, to say what each of them is worth.
#ifndef PLANWRIGHT_CORE_JOINT_PLAN_CHOICE_WORTH_H_
#define PLANWRIGHT_CORE_JOINT_PLAN_CHOICE_WORTH_H_

#include <functional>
#include <string>
#include <vector>

#include "core/model/joint.h"

namespace planwright {

// Reports say per mille of what a choice is worth, so searches without one need no smaller gap.
inline constexpr double kWorthGap = 1e-3;

struct LeftOutChoice {
  // As in ChoiceWorth::without.
  std::string what;
  // The given settings, where nothing but to do without it may be chosen.
  JointSettings settings;
  // These allow nothing that the given ones do not.
  bool is_narrower = true;
  // Whether a plan of the given settings does without it: then it is one of `settings` as well.
  std::function<bool(const JointPlan&)> does_without;
};

// What may be chosen by `settings`, which are resolved, and could be left out.
std::vector<LeftOutChoice> ChoicesToLeaveOut(const JointSettings& settings);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLAN_CHOICE_WORTH_H_
