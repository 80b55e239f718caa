// Devices for stages that have different numbers of replicas.
//
// Micro-batch n runs on replica n mod R of a stage, so replicas r and q of two stages with R and Q replicas meet where
// r and q are equal modulo gcd(R, Q), and each pays the mean over the replicas that it meets (docs/cost-model.md
// sections 14 and 15). core/mapping knows equal numbers only, for which replicas pair off; here one annealing run moves
// and swaps devices, with the cost counted afresh for every move.
#ifndef PLANWRIGHT_CORE_PARTITION_PARMESAN_TEAM_MAPPING_H_
#define PLANWRIGHT_CORE_PARTITION_PARMESAN_TEAM_MAPPING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/mapping/problem/link_times.h"
#include "core/mapping/problem/mapping_instance.h"
#include "core/model/problem.h"
#include "core/partition/parmesan/stage_partition.h"
#include "core/partition/search/search.h"

namespace planwright {

class TeamMapping {
 public:
  // `replicas` of each stage of `partition`, each on devices of the stage's class. Request and partition outlive it.
  TeamMapping(const SearchRequest& request, const StagePartition& partition, std::vector<int32_t> replicas);

  // The best devices found, in at most limits.work trials; rings run in the order of the cluster, or of the replicas
  // where that is asked for. nullopt: there are too few devices that the stages may be on.
  std::optional<Placement> Find(const SolveLimits& limits);

  // Time per micro-batch in milliseconds, but for rounding; a lower bound of it for GPIPE. REQUIRES: the stages and
  // numbers of replicas of this object. O(pairs of replicas that meet).
  double ValueMs(const Placement& placement) const;

 private:
  // A device for each replica of each stage, those of stage s from first_of_stage_[s] on.
  using Devices = std::vector<DeviceId>;

  // The time of the slowest replica, and the mean over all: a move towards a better slowest replica is worth something.
  struct Value {
    double slowest = 0;
    double mean = 0;
  };

  bool MayHold(std::size_t replica, DeviceId device) const;
  std::optional<Devices> FirstDevices() const;
  void Anneal(const SolveLimits& limits, Devices& devices) const;
  Value ValueOf(const Devices& devices) const;
  // What a round of micro-batches has of it.
  double AllReduceMs(std::size_t stage, std::vector<DeviceId> ring) const;
  Placement PlacementOf(const Devices& devices) const;

  const SearchRequest& request_;
  const StagePartition& partition_;
  const std::vector<int32_t> replicas_;
  // Replicas that pair off; only its times, bytes and kinds are looked at.
  const MappingInstance pairs_;
  const LinkTimes links_;
  std::vector<std::size_t> first_of_stage_;
  std::vector<std::size_t> stage_of_replica_;
  // By stage.
  std::vector<int64_t> parameter_bytes_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PARMESAN_TEAM_MAPPING_H_
