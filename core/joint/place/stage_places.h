// Places for the stages of a joint plan where pairs of devices have links of their own: which device is which rank.
//
// Tensor groups want the best rings, copies of them the next, stages only their neighbours. Up to 5,040 ways to lay out
// the row are all tried; beyond that, on grids regular layouts (grid_layouts.h), layouts that grow rank by rank from
// several corners, then annealing: ranks change places, runs are reversed, groups and stages are exchanged. What counts
// is the closed form of the step, with a small share of the slowness of all links, which leads over its plateaus.
#ifndef PLANWRIGHT_CORE_JOINT_PLACE_STAGE_PLACES_H_
#define PLANWRIGHT_CORE_JOINT_PLACE_STAGE_PLACES_H_

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/polling.h"
#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/training_cluster.h"
#include "core/model/joint.h"

namespace planwright {

struct PlaceQuestion {
  const LayerPricer& pricer;
  // With `pairs`, one node for each class.
  const TrainingCluster& cluster;
  int64_t reserved_bytes = 0;
};

enum class PlaceEffort {
  // Up to 720 layouts are all tried; beyond that, regular layouts and few that grow: to tell plans apart.
  kDraft,
  kFull,
};

struct PlacedPlan {
  // The cluster with its devices in the order of the plan's slots.
  TrainingCluster cluster;
  // The plan, costed on these places.
  JointPlan plan;
};

// `plan`, whose stages are on devices of `classes`, each at the best place found. The same for every machine and run;
// where the poller says so it ends early, with a place. REQUIRES: the classes have so many devices.
PlacedPlan PlaceStages(const PlaceQuestion& question, const JointPlan& plan, const std::vector<DeviceClassId>& classes,
                       PlaceEffort effort, Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLACE_STAGE_PLACES_H_
