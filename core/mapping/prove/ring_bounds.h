// Lower bounds of all-reduces over rings.
//
// Within a target every stage has a slowest link that its ring may use. A device can be in the ring only if enough
// links to others that can are that fast (two, or one where the ring has two replicas), if those hold together as many
// devices as the ring has, and, for short rings, if a cycle of the very length goes through it. Every device must be in
// one of the rings or idle, and every ring have its devices: a matching (stage_matching.h). Rings that need fast links
// lie inside the parts that such links hold together, so there must be room for all of them. A target is refuted where
// that cannot be.
//
// Source: the idea of equation (9) of Parmesan, taken for all stages and devices at once.
#ifndef PLANWRIGHT_CORE_MAPPING_PROVE_RING_BOUNDS_H_
#define PLANWRIGHT_CORE_MAPPING_PROVE_RING_BOUNDS_H_

#include <cstdint>
#include <vector>

#include "core/base/polling.h"
#include "core/mapping/prove/replica_domains.h"
#include "core/mapping/prove/replica_model.h"
#include "core/mapping/prove/stage_matching.h"

namespace planwright {

// What each place of a stage on a device at s * num_devices + d adds at least to its weighted load for the all-reduce.
// REQUIRES: the instance has rings. Complexity O(devices x stages).
std::vector<double> RingSurcharges(const ReplicaModel& model);

// Keeps its memory from target to target. Not thread-safe; the model outlives it.
// REQUIRES: the instance has rings, and at most ReplicaDomains::kMostStages stages.
class RingBounds {
 public:
  // `with_compute`: of each stage the weighted compute time counts beside its weighted all-reduce (equation (7)).
  RingBounds(const ReplicaModel& model, bool with_compute);

  // The largest target refuted, of what bisection tries; at most `most_ms`, which is what it gives where no mapping is
  // below. 0: none.
  double LargestRefuted(double most_ms, Poller& poller);

  // Whether no mapping keeps every stage within the target. What an interruption leaves open is not refuted.
  bool Refutes(double target_ms, Poller& poller);

  // Steps of some nanoseconds since the object was made.
  int64_t work() const { return domains_.work() + matching_.work() + cycle_work_; }

 private:
  void SetReach(double target_ms);
  bool Filter(Poller& poller);
  bool FilterStage(int32_t stage, Poller& poller);
  void DropLonely(int32_t stage);
  void DropSmallParts(int32_t stage);
  void DropWithoutCycle(int32_t stage, Poller& poller);
  bool IsOnCycle(int32_t stage, int32_t start, int32_t device, int32_t length, int64_t& steps);
  bool HasRoomForAll() const;
  template <typename Visit>
  void ForNear(int32_t stage, int32_t device, const Visit& visit) const;
  bool ReachesBeyondList(int32_t stage, int32_t device) const;
  void Drop(int32_t stage, int32_t device);

  const ReplicaModel& model_;
  // Without traffic: only matching is asked of them.
  const ReplicaModel places_;
  const bool with_compute_;
  ReplicaDomains domains_;
  StageMatching matching_;
  std::vector<int32_t> devices_;
  // By stage: slowest link that its ring may use.
  std::vector<double> reach_;
  std::vector<uint8_t> is_on_path_;
  int64_t cycle_work_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROVE_RING_BOUNDS_H_
