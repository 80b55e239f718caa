// What the ways reach that people and other planners would take, beside a plan of the joint search.
#ifndef PLANWRIGHT_CORE_JOINT_BASELINES_JOINT_BASELINES_H_
#define PLANWRIGHT_CORE_JOINT_BASELINES_JOINT_BASELINES_H_

#include <optional>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/joint/baselines/baseline_question.h"

namespace planwright {

struct JointBaseline {
  // "data_parallel", "alpa".
  std::string algorithm;
  // Costed; nullopt: there is none, or none was found in time.
  std::optional<JointPlan> plan;
  // Why there is no plan, or why the settings do not allow it; empty: it is a plan of the question.
  std::string reason;
};

// Sharded data parallelism and Alpa's program, which takes some hundredths of a second. `is_cut_off`: nobody waits for
// more, so that what asks no clock is left out.
std::vector<JointBaseline> JointBaselines(const BaselineQuestion& question, const SolveLimits& limits,
                                          bool is_cut_off = false);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_BASELINES_JOINT_BASELINES_H_
