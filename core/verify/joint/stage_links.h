// What the ranks of a stage rely on where pairs of devices have links of their own: grids, explicit links, matrices.
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_STAGE_LINKS_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_STAGE_LINKS_H_

#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/model/cluster.h"
#include "core/model/joint.h"
#include "core/verify/facts/links.h"
#include "core/verify/joint/machines.h"

namespace planwright::verify {

// Not thread-safe.
class StageNetwork {
 public:
  // The cluster is valid and outlives the object.
  explicit StageNetwork(const Cluster& cluster);

  // Whether pairs have links of their own.
  bool exists() const { return exists_; }

  // The slowest link between neighbours of the tensor rings; between ranks that hold the same part of the layers,
  // neighbours on their ring or, with a context or expert degree, any two; between ranks of two stages that exchange.
  // Where there is none it is infinitely fast. REQUIRES: exists().
  MachineLink OfTensorGroups(const std::vector<DeviceId>& ranks, const Degrees& degrees);
  MachineLink OfCopies(const std::vector<DeviceId>& ranks, const Degrees& degrees);
  MachineLink BetweenStages(const std::vector<DeviceId>& from, const std::vector<DeviceId>& to);

 private:
  MachineLink SlowestOf(const std::vector<std::pair<DeviceId, DeviceId>>& pairs);

  bool exists_;
  JudgedLinks links_;
};

}  // namespace planwright::verify

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_STAGE_LINKS_H_
