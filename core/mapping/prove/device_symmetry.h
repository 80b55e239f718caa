// Devices and groups of devices that can change places without changing any cost.
//
// *Twins* have the same links to all other devices. *Blocks* are the parts of the machine that links up to some speed
// hold together; two of the same size are alike where exchanging them, device by device in ascending order, leaves all
// links as they are (both are checked link by link). So whether a set of free devices can hold some replicas depends
// only on how many of each group of twins are free, and on the multiset of such counts over blocks that are alike.
#ifndef PLANWRIGHT_CORE_MAPPING_PROVE_DEVICE_SYMMETRY_H_
#define PLANWRIGHT_CORE_MAPPING_PROVE_DEVICE_SYMMETRY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/limits.h"
#include "core/base/polling.h"
#include "core/mapping/prove/replica_model.h"

namespace planwright {

// 128 bits that stand for a set of free devices up to symmetry. Proofs rely on them: that two of 2^32 sets collide has
// a chance below 2^-64.
struct FreeSetKey {
  uint64_t first = 0;
  uint64_t second = 0;

  bool operator==(const FreeSetKey&) const = default;
};

struct FreeSetKeyHash {
  std::size_t operator()(const FreeSetKey& key) const { return key.first; }
};

// Immutable.
class DeviceSymmetry {
 public:
  // More devices than that are taken as all different.
  static constexpr int32_t kMostDevices = 1024;

  // No two devices are alike.
  static DeviceSymmetry None(const ReplicaModel& model);
  // The symmetry of the model; None where the limits say stop. Complexity O(devices^2) and O(devices x block) for each
  // pair of blocks and speed that looks alike.
  static DeviceSymmetry Of(const ReplicaModel& model, const SolveLimits& limits = {});

  // Twins of a block share a number; devices of a group ascending.
  int32_t TwinsOf(int32_t device) const { return twins_of_[Index(device)]; }
  const std::vector<int32_t>& TwinGroup(int32_t group) const { return twin_groups_[Index(group)]; }
  // One block where none are alike.
  int32_t BlockOf(int32_t device) const { return block_of_[Index(device)]; }
  // Blocks that are alike share a kind.
  int32_t KindOfBlock(int32_t block) const { return block_kind_[Index(block)]; }
  int32_t num_blocks() const { return static_cast<int32_t>(block_kind_.size()); }

  // By block: equal for two blocks of a kind iff their free devices can change places.
  std::vector<FreeSetKey> BlockKeys(const std::function<bool(int32_t)>& is_free) const;
  // The key of the whole free set, with a number that tells searches of different kinds apart.
  FreeSetKey KeyOf(const std::vector<FreeSetKey>& block_keys, int32_t salt) const;

 private:
  explicit DeviceSymmetry(const ReplicaModel& model);
  void FindTwins(const ReplicaModel& model, Poller& poller);
  void FindBlocks(const ReplicaModel& model, Poller& poller);
  bool TryBlocks(const ReplicaModel& model, double most_ms_per_byte, Poller& poller);
  void NumberRoles();

  std::vector<int32_t> twins_of_;
  std::vector<std::vector<int32_t>> twin_groups_;
  std::vector<int32_t> block_of_;
  std::vector<int32_t> block_kind_;
  // By group of twins: what it is within its block.
  std::vector<int32_t> role_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROVE_DEVICE_SYMMETRY_H_
