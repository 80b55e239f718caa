// Every free device must get a stage or stay idle, and every stage needs its replicas: a b-matching between the two.
//
// A place that is in no perfect matching is removed. A device matched to one stage can go to another iff the stages in
// between can pass devices on, along a cycle in the graph of stages that has an edge where some device matched to the
// first allows the second; so reachability among at most 64 stages tells all places at once (Regin 1994, for
// capacities). Complexity O(devices x stages + stages^3 / 64) beside augmentation.
#ifndef PLANWRIGHT_CORE_MAPPING_PROVE_STAGE_MATCHING_H_
#define PLANWRIGHT_CORE_MAPPING_PROVE_STAGE_MATCHING_H_

#include <array>
#include <cstdint>
#include <vector>

#include "core/mapping/prove/replica_domains.h"

namespace planwright {

// Keeps its memory from call to call. Not thread-safe.
class StageMatching {
 public:
  explicit StageMatching(const ReplicaModel& model);

  // Removes the places that no perfect matching uses; Propagate afterwards. False: there is no perfect matching.
  bool Prune(ReplicaDomains& domains);

  int64_t work() const { return work_; }

 private:
  // What stays idle is one more stage.
  static constexpr std::size_t kNodes = ReplicaDomains::kMostStages + 1;

  uint64_t AllowedOf(const ReplicaDomains& domains, int32_t device) const;
  void Gather(const ReplicaDomains& domains);
  bool Augment(const ReplicaDomains& domains, int32_t device);
  void Match(const ReplicaDomains& domains, int32_t device, int32_t stage);
  void Unmatch(const ReplicaDomains& domains, int32_t device);
  int32_t PassOn(const ReplicaDomains& domains, int32_t from, int32_t to);
  std::array<uint64_t, kNodes> Reachable() const;

  const ReplicaModel& model_;
  int32_t idle_ = 0;
  std::vector<int32_t> devices_;
  // By device.
  std::vector<int32_t> match_;
  std::array<int32_t, kNodes> room_{};
  // Devices matched to the first stage that allow the second.
  std::array<std::array<int32_t, kNodes>, kNodes> exchanges_{};
  int64_t work_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROVE_STAGE_MATCHING_H_
