// Alpa's inter-operator program (Zheng et al. 2022, "Alpa: Automating Inter- and Intra-Operator Parallelism for
// Distributed Deep Learning", section 5.2, equations 2 to 4 and algorithm 1).
//
// Layers are clustered into at most 16 groups; a dynamic program over (stages, first group, devices) divides them among
// submeshes that together are the cluster, for a cap on the longest stage, and the cap ascends from the least possible
// one until no greater cap can pay: the least sum of stages + (micro-batches - 1) x longest. A stage takes what the
// best of its spreads takes that fits with the micro-batches in flight that its place from the end asks for.
//
// As there: transfers between stages are not looked at (the plan's price has them), one recomputation for all layers,
// submeshes of powers of two. Unlike there: spreads are those of the settings instead of an integer program's,
// submeshes stand in pipeline order, several sizes of micro-batches are tried, and of clusters of more than 128 devices
// small submeshes are left out.
#ifndef PLANWRIGHT_CORE_JOINT_BASELINES_ALPA_H_
#define PLANWRIGHT_CORE_JOINT_BASELINES_ALPA_H_

#include <optional>

#include "core/base/polling.h"
#include "core/joint/baselines/baseline_question.h"

namespace planwright {

// The best plan over sizes of micro-batches, shardings and recomputation; its stages may be spread differently.
// nullopt: none fits, or the poller ended it before one was found. REQUIRES: the cluster has one class.
// O(choices x caps x groups^3 x devices x submeshes), of caps at most 64.
std::optional<JointPlan> AlpaProgram(const BaselineQuestion& question, Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_BASELINES_ALPA_H_
