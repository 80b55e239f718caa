#include "tests/support/planned_runs.h"

#include <algorithm>
#include <cstdint>

#include "core/base/limits.h"
#include "core/base/units.h"
#include "core/joint/cost/training_cluster.h"
#include "core/joint/cost/transformer_pricer.h"
#include "core/joint/plan/settings.h"
#include "core/joint/search/joint_search.h"

namespace planwright {

std::optional<JointPlan> PlanInPlaceOf(const TrainingRun& run, const TrainingEfficiency& efficiency) {
  Cluster cluster;
  cluster.device_classes = {run.device};
  cluster.device_classes.front().training = efficiency;
  const TrainingCluster training{
      .classes = {{.device_class = DeviceClassId(0),
                   .nodes = static_cast<int32_t>(CeilDivide(run.devices, run.devices_per_node)),
                   .devices_per_node = std::min(run.devices, run.devices_per_node),
                   .memory_bytes = run.device.memory_bytes.value_or(0) - run.reserved_bytes}},
      .devices = {},
      .inside = run.inside,
      .between = run.between};
  const TransformerPricer pricer(run.shape, cluster, run.inside, run.between, run.options);
  JointSettings asked;
  asked.global_batch = run.global_batch;
  const JointSettings settings = ResolveJoint(asked, run.shape, training);
  return SearchJoint({.pricer = pricer,
                      .cluster = training,
                      .settings = settings,
                      .reserved_bytes = run.reserved_bytes,
                      .relative_gap = 1e-4},
                     SolveLimits(), [](const JointPlan&) {})
      .plan;
}

}  // namespace planwright
