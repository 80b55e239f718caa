// What people configure by hand as a plan: as many layers in every stage.
#ifndef PLANWRIGHT_CORE_JOINT_PLAN_EQUAL_STAGE_PLAN_H_
#define PLANWRIGHT_CORE_JOINT_PLAN_EQUAL_STAGE_PLAN_H_

#include <optional>

#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/training_cluster.h"
#include "core/model/joint.h"

namespace planwright {

// `equal` on the first class of `cluster`, the first and the last stage with the ends of the model. nullopt: the class
// has not so many blocks, or the model no such degrees.
std::optional<JointPlan> EqualStagePlan(const LayerPricer& pricer, const TrainingCluster& cluster,
                                        const JointSettings& settings, const JointConfiguration& equal);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLAN_EQUAL_STAGE_PLAN_H_
