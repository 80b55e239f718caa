// Which links the exchanges of the stages of a joint plan use, and how much of what those carry.
//
// Every group of a stage is looked at rank by rank. A ring goes from each rank to the next; where it leaves a node it
// does so through the ports of all of its ranks there. An all-to-all goes from each rank to all others. Stages send
// rank by rank. What is used is what the cost model counts on (docs/training-costs.md, section 4): the speed of the
// exchange where it is alone, over what the link carries.
//
// Links of nodes: what a device sends and receives inside its node, and outside it by level; what a node, a rack, ...
// sends and receives through its ports, where these are known. Both directions are links of their own. Of a grid,
// explicit links and a matrix each direction of each pair of neighbours is a link, and others are routed. Links that
// are used alike by the same exchanges are one, as are the ranks of a stage; those that are nowhere the narrowest are
// left out.
#ifndef PLANWRIGHT_CORE_JOINT_STEP_LINK_USES_H_
#define PLANWRIGHT_CORE_JOINT_STEP_LINK_USES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/joint/cost/layer_parts.h"
#include "core/joint/cost/stage_cost.h"
#include "core/model/cluster.h"
#include "core/model/joint.h"
#include "core/model/task_list.h"

namespace planwright {

// What a stage does over links: the exchanges of its groups (ExchangeGroup), then these.
enum class StageTransfer { kSendForward, kReceiveForward, kSendBackward, kReceiveBackward, kEnds };
inline constexpr std::size_t kNumStageExchanges = kNumExchangeGroups + 5;

struct StageLinkUses {
  // By LinkUse::link.
  std::vector<std::string> links;
  // By stage, then by exchange. None: the stage has no such exchange.
  std::vector<std::array<std::vector<LinkUse>, kNumStageExchanges>> stages;

  const std::vector<LinkUse>& Of(std::size_t stage, ExchangeGroup group) const {
    return stages[stage][static_cast<std::size_t>(group)];
  }
  const std::vector<LinkUse>& Of(std::size_t stage, StageTransfer transfer) const {
    return stages[stage][kNumExchangeGroups + static_cast<std::size_t>(transfer)];
  }
};

// The most uses of links by exchanges of stages: some 200 MB while they are looked for.
inline constexpr int64_t kMostLinkUses = 1'000'000;

// `plan` is placed in the row, whose devices are those of `cluster`; nullopt: the stages use links in more than
// `most_uses` ways. Heeds interruption (interruption.h). With U uses O(U log U + ranks x (levels + ranks of expert
// groups) x links of a way), and of links that are used alike, of which D are left, O(D^2 x exchanges that meet there).
std::optional<StageLinkUses> LinkUsesOf(const Cluster& cluster, const DeviceRow& row, const JointPlan& plan,
                                        int64_t most_uses = kMostLinkUses);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_STEP_LINK_USES_H_
