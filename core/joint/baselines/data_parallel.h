// Data parallelism with everything sharded (FSDP; Rajbhandari et al. 2020, ZeRO-3): every device computes the whole
// model on its part of the batch, and has a part of the parameters, gradients and optimizer.
#ifndef PLANWRIGHT_CORE_JOINT_BASELINES_DATA_PARALLEL_H_
#define PLANWRIGHT_CORE_JOINT_BASELINES_DATA_PARALLEL_H_

#include <optional>

#include "core/joint/baselines/baseline_question.h"

namespace planwright {

// The best one over samples and one recomputation for all layers, on as many devices of one class, whole nodes where
// they are more than a node, as divide the batch. nullopt: none fits. O(samples x modes x layers).
std::optional<JointPlan> ShardedDataParallel(const BaselineQuestion& question);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_BASELINES_DATA_PARALLEL_H_
