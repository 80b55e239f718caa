// The best orders in which an all-reduce can visit the replicas of a stage.
//
// All that counts of a ring is its slowest bandwidth and its longest latency. For each pair of both that some link has,
// a program over subsets (Held and Karp 1962, Bellman 1962, for reachability only) tells whether a ring exists whose
// edges are all at least so fast; of those that exist the ones that no other beats in both are kept.
#ifndef PLANWRIGHT_CORE_PARTITION_ENUMERATION_RING_CHOICE_H_
#define PLANWRIGHT_CORE_PARTITION_ENUMERATION_RING_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/cost/terms/transfer.h"
#include "core/model/problem.h"

namespace planwright {

// Remembers the rings of every team that it has been asked for. `network` outlives it.
class RingChoice {
 public:
  // Where links differ.
  static constexpr std::size_t kMaxReplicas = 16;

  RingChoice(const Network& network, const AllReduce& allreduce) : network_(network), allreduce_(allreduce) {}

  struct Ring {
    std::vector<DeviceId> order;
    Picoseconds time{0};
  };
  // The ring of least time for `parameter_bytes`; with Ring::kIndex that of the order of the copies. REQUIRES: `team`
  // has two devices at least, and where links differ kMaxReplicas at most. O(2^R x R) for each pair of bandwidth and
  // latency, once for each team.
  Ring BestRing(const std::vector<DeviceId>& team, int64_t parameter_bytes);

 private:
  struct Candidate {
    std::vector<DeviceId> order;
    LinkSpeed speed;
  };

  const std::vector<Candidate>& CandidatesOf(std::vector<DeviceId> ascending);

  const Network& network_;
  const AllReduce allreduce_;
  // By the devices, ascending.
  std::map<std::vector<DeviceId>, std::vector<Candidate>> candidates_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_ENUMERATION_RING_CHOICE_H_
