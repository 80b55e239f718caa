// Times of the collectives of a stage (docs/training-costs.md, section 4).
#ifndef PLANWRIGHT_CORE_JOINT_COST_EXCHANGE_H_
#define PLANWRIGHT_CORE_JOINT_COST_EXCHANGE_H_

#include <cstdint>

#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/training_cluster.h"

namespace planwright {

// A group: `ranks` ranks, whose neighbours are `stride` ranks apart.
struct RankGroup {
  int64_t ranks = 1;
  int64_t stride = 1;
};

// All groups of one kind of a stage exchange at the same time: those that leave a node share its ports.
class Exchange {
 public:
  // `inside`, `furthest`: of a node and between nodes anywhere, where `query` does not say. `efficiency`: share of the
  // links' bandwidth that collectives reach.
  Exchange(const PriceQuery& query, const TrainingLink& inside, const TrainingLink& furthest, double efficiency);

  // A gather to all ranks or a scatter of sums in a ring, picoseconds: (ranks - 1) / ranks of `bytes`, which is the
  // whole, pass each link. A group whose ranks share a node leaves it through the ports of all of these, as NCCL's
  // rings do.
  double Ring(double bytes, const RankGroup& group) const;

  // Time in which every rank of a group of several receives `bytes` by the links of its ring, picoseconds.
  double Received(double bytes, const RankGroup& group) const;

  // Every rank sends `bytes` in equal parts to all ranks, picoseconds: inside and between nodes at the same time. What
  // takes longest counts: most ranks in one node inside, fewest between.
  double AllToAll(double bytes, const RankGroup& group) const;

 private:
  // How many ranks of a group a node has that has any.
  struct RanksInNodes {
    int64_t least = 0;
    int64_t most = 0;
  };

  // The link of a ring: where the group leaves nodes, the ports that its ranks have together in the node with the
  // fewest of them, if they are slower.
  TrainingLink LinkOf(const RankGroup& group) const;
  // Over all groups of the kind, which lie one behind the other from the start of a node on: where their devices do not
  // divide those of a node, some are in two nodes, and where the last node is not full, it has fewer ranks. O(devices
  // of a node).
  RanksInNodes InNodes(const RankGroup& group) const;
  // Whether some of these groups do.
  bool Leaves(const RankGroup& group) const;

  bool crosses_nodes_;
  int64_t devices_;
  int64_t devices_per_node_;
  TrainingLink inside_;
  // Between the stage's nodes.
  TrainingLink between_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_EXCHANGE_H_
