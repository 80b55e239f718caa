// What baselines plan for, and how their plans become comparable.
#ifndef PLANWRIGHT_CORE_JOINT_BASELINES_BASELINE_QUESTION_H_
#define PLANWRIGHT_CORE_JOINT_BASELINES_BASELINE_QUESTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/cost/training_cluster.h"
#include "core/model/joint.h"

namespace planwright {

struct BaselineQuestion {
  const LayerPricer& pricer;
  const TrainingCluster& cluster;
  // Resolved (ResolveJoint): samples, recomputation and shardings that may be chosen.
  const JointSettings& settings;
  // Bytes reserved on every device, on top of what the cluster says its devices may use.
  int64_t reserved_bytes = 0;

  int32_t num_layers() const { return static_cast<int32_t>(pricer.kinds().size()); }
};

// Costs `plan`, whose decisions are made, and keeps it in `best` if it fits the memory and takes less.
void Offer(const BaselineQuestion& question, const DeviceRow& row, JointPlan plan, std::optional<JointPlan>& best);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_BASELINES_BASELINE_QUESTION_H_
