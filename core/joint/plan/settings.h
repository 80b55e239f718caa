// What may be chosen where a request leaves it open: what people would try.
#ifndef PLANWRIGHT_CORE_JOINT_PLAN_SETTINGS_H_
#define PLANWRIGHT_CORE_JOINT_PLAN_SETTINGS_H_

#include <cstdint>
#include <vector>

#include "core/joint/cost/training_cluster.h"
#include "core/model/joint.h"
#include "core/model/transformer_shape.h"

namespace planwright {

// `given` with every empty list filled in:
//   tensor degrees     powers of two within a node that divide heads and widths
//   context degrees    powers of two up to 16 that leave a rank 2,048 tokens of a sample. Of fewer than 32,768 tokens 1
//                      alone where pairs of devices have links of their own, and 1 and the measured ones where passes
//                      were measured
//   expert degrees     1; with experts, powers of two up to 64 that divide them
//   samples            up to 16 that divide the batch. Powers of two alone where pairs of devices have links of their
//                      own, and these and the measured ones where passes were measured
//   recomputation      none, selective, full
//   sharding           optimizer; parameters
//   orders             1F1B; interleaved
// Empty data degrees stay empty: all that divide the batch. Resolving twice changes nothing.
JointSettings ResolveJoint(const JointSettings& given, const TransformerShape& shape, const TrainingCluster& cluster);

// Degrees of data that may be chosen, as they are listed, or all that divide the batch, up to `most`.
std::vector<int32_t> DataDegreesUpTo(int64_t most, const JointSettings& settings);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLAN_SETTINGS_H_
