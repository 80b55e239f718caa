// From a graph with the shape of its model, a cluster and settings to a joint plan with its proofs and comparisons.
#ifndef PLANWRIGHT_CORE_JOINT_PLAN_JOINT_PLANNING_H_
#define PLANWRIGHT_CORE_JOINT_PLAN_JOINT_PLANNING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/ids.h"
#include "core/base/limits.h"
#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/training_cluster.h"
#include "core/joint/search/joint_search.h"
#include "core/model/cluster.h"
#include "core/model/joint.h"

namespace planwright {

// A plan to start from.
struct JointStart {
  // Its choices: whole runs of layers in their order, one chunk for each of `chunks` in every stage. The layers are the
  // model's.
  JointPlan plan;
  // By stage, what its devices are; nullopt: they are gone.
  std::vector<std::optional<DeviceClassId>> classes;
  // By stage, those that are left.
  std::vector<std::vector<DeviceId>> devices;
};

// All devices that there are where a question takes only some of them, and what may be chosen there.
struct AllDevices {
  TrainingCluster training;
  // Resolved (ResolveJoint).
  JointSettings settings;
};

struct JointQuestion {
  const LayerPricer& pricer;
  const Cluster& cluster;
  // Its classes stand in one order; others are tried as well.
  const TrainingCluster& training;
  // Resolved (ResolveJoint).
  const JointSettings& settings;
  int64_t reserved_bytes = 0;
  double relative_gap = 0;
  // The answer is at least as good, where it fits (StartFrom); counter "start_fits": 2 as it is, 1 adapted, 0 not.
  const JointStart* start = nullptr;
  // `training` has so many of the devices that may be used; others may be closer to each other.
  bool is_part = false;
  // Of which, with so many of each class: other parts with as many count as well (PartsWith). nullptr: `training`
  // alone.
  const TrainingCluster* whole = nullptr;
  std::vector<int64_t> part_counts = {};
  // These are one way of several to take so many of a class (BoundPartsWith).
  bool is_one_mix = false;
  // Plans take so many of the devices at most, of whichever classes (PlanOnMix, PlanOnFewestDevices); 0: any number.
  int64_t most_total = 0;
  // On networks: by class, how many devices plans take at most, whichever these are; empty: any number.
  std::vector<int64_t> most_devices = {};
  // On networks: a step that is no longer will do.
  int64_t enough_ps = 0;
  // Asked where nothing fits; nullptr: `training` has all devices.
  const AllDevices* all = nullptr;

  // The search of one row, of which `row` and `with` outlive it.
  JointRequest RequestOn(const TrainingCluster& row, const JointSettings& with) const {
    return {pricer, row, with, reserved_bytes, relative_gap};
  }
  JointRequest RequestOn(const TrainingCluster& row) const { return RequestOn(row, settings); }
};

// Rows on which plans are looked for (RowsOf).
std::vector<TrainingCluster> PlanRowsOf(const JointQuestion& question);

// Rows on which no plan that the question asks for takes longer (BestRowsOf), wherever its part is: what is proven of
// these holds.
std::vector<TrainingCluster> BoundRowsOf(const JointQuestion& question);

// Whether these are others than the rows on which plans are looked for.
bool HasOtherBoundRows(const JointQuestion& question);

struct JointAnswer {
  // Without rates.
  JointPlan plan;
  // In the order of the plan's slots.
  TrainingCluster training;
  bool is_interrupted = false;
  std::map<std::string, int64_t> counters;
};

// The best plan over the orders of the classes, its bounds, its step task by task, what each choice is worth, and what
// simple configurations reach. `on_answer` hears of each better plan, with its simulated step, without what the
// finished search adds. Errors: FAILED_PRECONDITION (InfeasibilityOf: proven, with what would fit), DEADLINE_EXCEEDED
// (IsNoPlanFound), CANCELLED, RESOURCE_EXHAUSTED (no memory was left before a plan was found).
absl::StatusOr<JointAnswer> PlanJointly(const JointQuestion& question, const SolveLimits& limits,
                                        const std::function<void(const JointAnswer&)>& on_answer);

// The version of the search that makes the plans.
std::string JointPlanVersion();

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLAN_JOINT_PLANNING_H_
