// Large-neighbourhood search on whole replicas: a few replicas give up their devices and are placed anew within a
// target.
//
// Source: Shaw, Using constraint programming and local search methods to solve vehicle routing problems, 1998; what is
// freed is searched completely (replica_cover_search.h) up to a limit.
#ifndef PLANWRIGHT_CORE_MAPPING_PROVE_REPLICA_REPAIR_H_
#define PLANWRIGHT_CORE_MAPPING_PROVE_REPLICA_REPAIR_H_

#include <cstdint>
#include <vector>

#include "core/base/polling.h"
#include "core/base/random.h"
#include "core/mapping/prove/load_prover.h"
#include "core/mapping/prove/replica_cover_search.h"

namespace planwright {

// Not thread-safe. What it is given outlives it.
class ReplicaRepair {
 public:
  ReplicaRepair(const ReplicaModel& model, const DeviceSymmetry& symmetry);

  // Tries to bring all replicas below the largest load of any of them; keeps what it reaches. Spends about `work` steps
  // of some nanoseconds. True: the largest load is smaller than before.
  bool Improve(ReplicaPlaces& replicas, double bound_ms, int64_t work, RandomStream& random, Poller& poller);

  int64_t nodes() const { return cover_.nodes(); }

 private:
  double LoadOf(const std::vector<int32_t>& devices) const;
  void Choose(const ReplicaPlaces& replicas, std::size_t worst, RandomStream& random);
  void Free(const ReplicaPlaces& replicas, RandomStream& random);

  const ReplicaModel& model_;
  ReplicaCoverSearch cover_;
  std::vector<double> loads_;
  // Replicas that give up their devices, and those.
  std::vector<std::size_t> chosen_;
  std::vector<int32_t> freed_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROVE_REPLICA_REPAIR_H_
