// Which devices of several classes a plan takes that may not take all.
#ifndef PLANWRIGHT_CORE_JOINT_PLAN_DEVICE_MIXES_H_
#define PLANWRIGHT_CORE_JOINT_PLAN_DEVICE_MIXES_H_

#include <functional>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/joint/plan/joint_planning.h"

namespace planwright {

// As PlanJointly on the best part of question.training that has at most question.most_total devices. Parts are mixes of
// classes: boxes of numbers of devices by class are bounded as if a plan could take the most of each, and divided in
// halves, the box of least bound first, until no box is below the best plan. What is left when time runs out, or after
// kMostMixQuestionsOfOrder searches, bounds the answer. What a choice is worth is said of the part. On
// networks the mix is chosen as if all links were the fastest, which bounds the answer too (PlanOnNetwork). REQUIRES:
// question.most_total > 0, more than one class.
absl::StatusOr<JointAnswer> PlanOnMix(const JointQuestion& question, const SolveLimits& limits,
                                      const std::function<void(const JointAnswer&)>& on_answer);

// For each order of the classes.
inline constexpr int64_t kMostMixQuestionsOfOrder = 100;
// Where classes differ in the size or memory of their nodes alone and stages may not differ: the searches are short.
inline constexpr int64_t kMostNodeMixQuestions = 300;

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLAN_DEVICE_MIXES_H_
