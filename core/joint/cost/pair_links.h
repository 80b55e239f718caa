// Links between single devices, of clusters that are no nodes alike (grids, explicit links, matrices), and what the
// groups of a stage then rely on (docs/training-costs.md, section 4).
#ifndef PLANWRIGHT_CORE_JOINT_COST_PAIR_LINKS_H_
#define PLANWRIGHT_CORE_JOINT_COST_PAIR_LINKS_H_

#include <limits>
#include <span>

#include "core/base/ids.h"
#include "core/joint/cost/training_cluster.h"
#include "core/model/cluster.h"
#include "core/model/joint.h"

namespace planwright {

// Immutable; any thread.
class PairLinks {
 public:
  virtual ~PairLinks() = default;

  // The slower of both directions. REQUIRES: a != b.
  virtual TrainingLink Between(DeviceId a, DeviceId b) const = 0;
  // nullptr: they are not those of a grid.
  virtual const GridInterconnect* Grid() const { return nullptr; }
};

// What nobody waits for.
inline constexpr TrainingLink kNoLink{std::numeric_limits<double>::infinity(), 0};

// Returns a link no faster than either.
TrainingLink Slower(const TrainingLink& a, const TrainingLink& b);

// The slowest links that the groups of a stage use. kNoLink: there is no such group of several ranks.
struct StageLinks {
  // In the rings of the tensor groups.
  TrainingLink tensor = kNoLink;
  // Among the ranks that hold the same part of the layers: in their ring; with a context or expert degree, of any two.
  TrainingLink copies = kNoLink;
};

// `ranks`: the devices of a stage in rank order, tensor fastest, then context, then data.
// O(devices); with a context or expert degree times the copies.
StageLinks LinksWithin(const PairLinks& pairs, std::span<const DeviceId> ranks, const Degrees& degrees);

// The slowest link between two stages, whose ranks exchange one with one; of unlike numbers each with those of its
// share. kNoLink: they are one stage.
TrainingLink LinkAcross(const PairLinks& pairs, std::span<const DeviceId> a, std::span<const DeviceId> b);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_PAIR_LINKS_H_
