// All families of one request under every order: the plan of the least closed form and what no plan beats.
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_JOINT_SEARCH_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_JOINT_SEARCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/training_cluster.h"
#include "core/model/joint.h"

namespace planwright {

// Of plans and bounds; raised when these change, also by what may be chosen where nothing is said (ResolveJoint).
inline constexpr char kJointSearchVersion[] = "15";

// Runs of layers on one device under INTERLEAVED; more are not used by anyone.
inline constexpr int32_t kMostChunks = 8;

struct JointRequest {
  const LayerPricer& pricer;
  // Its classes in the order in which the pipeline passes them.
  const TrainingCluster& cluster;
  // Resolved (ResolveJoint).
  const JointSettings& settings;
  // Bytes reserved on every device, on top of what the cluster says its devices may use.
  int64_t reserved_bytes = 0;
  // Plans that are better by less are not sought.
  double relative_gap = 0;
  // The step of a plan that is known from elsewhere: only better ones are sought. nullopt: none is.
  std::optional<int64_t> known_step_ps = std::nullopt;
  // A plan that takes no longer ends the search, which then proves nothing.
  int64_t enough_ps = 0;
};

struct JointOutcome {
  // Costed, not simulated; nullopt: none was found.
  std::optional<JointPlan> plan;
  // No plan of the request takes less; at most the known step. Without a plan, neither interrupted nor open: there is
  // none, or none better than the known one.
  int64_t step_bound_ps = 0;
  // Interleaved pipelines were not found, but are not ruled out either: of layers that are unlike.
  bool is_open = false;
  // No step of any pipeline takes less, task by task: a first bound, which costs nothing (BoundSimulatedStep).
  int64_t simulated_floor_ps = 0;
  bool is_interrupted = false;
  // Megatron's grid of equal stages, best first.
  std::vector<JointConfiguration> equal_stages;
  std::map<std::string, int64_t> counters;
};

// `on_plan` hears of each better plan. Interruptions end it with what it has. The same for every machine and run unless
// it is interrupted.
JointOutcome SearchJoint(const JointRequest& request, const SolveLimits& limits,
                         const std::function<void(const JointPlan&)>& on_plan);

// Whether steps were left out because they take longer than kLongestStepPs (families.h): where nothing was found, that
// is no proof then. nullopt: there was no time.
std::optional<bool> MayTakeTooLong(const JointRequest& request, const SolveLimits& limits);

// No plan's step takes less, task by task, whatever its order: at most `simulated_step_ps`, that of a known one. 0
// where it is interrupted.
int64_t BoundSimulatedStep(const JointRequest& request, int64_t simulated_step_ps, const SolveLimits& limits);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_JOINT_SEARCH_H_
