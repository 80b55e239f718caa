// What the search is asked on networks (TrainingCluster::pairs): clusters with nodes and prices in the place of links
// of single pairs, and narrower choices, each of which is looked at for itself.
#ifndef PLANWRIGHT_CORE_JOINT_PLAN_NETWORK_SCOPES_H_
#define PLANWRIGHT_CORE_JOINT_PLAN_NETWORK_SCOPES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/joint/cost/training_cluster.h"
#include "core/joint/place/stage_places.h"
#include "core/model/joint.h"

namespace planwright {

// The slowest links that stages rely on.
struct ReachedLinks {
  TrainingLink tensor;
  // Between copies and between stages.
  TrainingLink others;
};

// Returns the slowest links that a placed plan relies on.
ReachedLinks ReachedBy(const PlacedPlan& placed);

// As if each class were nodes of so many devices; classes with fewer have none.
TrainingCluster AsNodes(const TrainingCluster& cluster, int64_t node, const ReachedLinks& links);

// Plans that are searched for together.
struct NetworkScope {
  // As if no place were slower.
  TrainingCluster cluster;
  JointSettings settings;
  // Devices of a node of it; 0: there are no nodes, and stages may differ in their degrees.
  int64_t node = 0;

  // Devices of a stage, at least.
  int64_t LeastStage() const;
  // The cluster at the prices of slower links.
  TrainingCluster At(ReachedLinks links) const;
};

// `scope` with one data degree and one schedule each, in all that its settings and devices allow; where stages may
// differ, under 1F1B alone, with one data degree, one tensor degree or fewer devices each, and with all of these.
std::vector<NetworkScope> NarrowScopes(const NetworkScope& scope);

// Numbers of stages to look at: all up to 8, then about three for each doubling, and
// the most that there can be. At most `most` of them, spread evenly.
std::vector<int32_t> StageCounts(const NetworkScope& scope, int64_t num_layers, std::size_t most);

// How many searches are made beside one for each tensor degree: the fewer, the more devices and layers there are.
std::size_t MostProbes(std::size_t devices, std::size_t layers);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLAN_NETWORK_SCOPES_H_
