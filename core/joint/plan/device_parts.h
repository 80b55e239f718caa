// Which devices plans lie on that take only some of those that there are.
#ifndef PLANWRIGHT_CORE_JOINT_PLAN_DEVICE_PARTS_H_
#define PLANWRIGHT_CORE_JOINT_PLAN_DEVICE_PARTS_H_

#include <cstdint>
#include <vector>

#include "core/joint/cost/training_cluster.h"
#include "core/joint/plan/device_counts.h"
#include "core/model/joint.h"

namespace planwright {

// Parts of `all` with at most `counts` devices of each class, on which a plan may lie that takes so many: whole nodes
// and part of one more come first. Blocks of 3 ranks leave a device of each node of 4 idle, so 6 devices are two blocks
// on two nodes, and one block on the first 6: where ranks that may be chosen make such blocks, nodes of as many devices
// as they fill are parts too. With one spread for all stages no plan lies on other nodes than such: a block
// larger than a node counts the whole nodes that it takes, or takes as many devices of each. O(blocks x classes + parts
// x devices).
std::vector<TrainingCluster> PartsWith(const TrainingCluster& all, const DeviceCounts& counts,
                                       const JointSettings& settings);

// Parts on which no plan that takes at most so many devices is slower than it is: those, and, where plans may lie on
// none of them, all devices of a class as one node. That is so where stages may differ and leave devices of nodes idle,
// and, of `is_one_mix`, counts that are one way of several to take so many devices of a class, where its nodes differ
// in size.
std::vector<TrainingCluster> BoundPartsWith(const TrainingCluster& all, const DeviceCounts& counts,
                                            const JointSettings& settings, bool is_one_mix);

// So many devices in one node, with the memory of those that have most: no plan that takes at most so many of `all`,
// whichever these are, is faster than it is there. REQUIRES: one class of devices, in nodes that may differ.
TrainingCluster AsOneNode(const TrainingCluster& all, int64_t count);

inline void AppendRows(const std::vector<TrainingCluster>& more, std::vector<TrainingCluster>& rows) {
  rows.insert(rows.end(), more.begin(), more.end());
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLAN_DEVICE_PARTS_H_
