// Raises a lower bound of the largest load step by step: arc consistency and matching first, then the embedding filter,
// then complete cover searches.
//
// Each of the first two refutes ever larger targets, the next one found by galloping and bisection, until what it
// refutes and what it does not meet. Cover searches go for the value of the best mapping; where their work does not
// suffice, for something between the bound and that.
#ifndef PLANWRIGHT_CORE_MAPPING_PROVE_LOAD_PROVER_H_
#define PLANWRIGHT_CORE_MAPPING_PROVE_LOAD_PROVER_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/polling.h"
#include "core/mapping/prove/device_symmetry.h"
#include "core/mapping/prove/replica_cover_search.h"
#include "core/mapping/prove/replica_domains.h"
#include "core/mapping/prove/replica_embedder.h"
#include "core/mapping/prove/stage_matching.h"

namespace planwright {

// Proofs that no mapping keeps all loads within a target, short of searching for one.
//
// A place is left out where its star is too costly (load_bounds.h). Then arc consistency and matching take turns until
// nothing changes. Then each place that remains must be part of a replica that fits the machine on its own, whatever
// the other replicas do: searched for place by place (the *embedding filter*), the replicas found being witnesses for
// all their places. A target is refuted when what remains cannot hold all replicas.
//
// Keeps its memory from target to target. Not thread-safe. What it is given outlives it.
class LoadRefuter {
 public:
  // `surcharge_ms`, `star_loads`: as for StarLoads.
  LoadRefuter(const ReplicaModel& model, const DeviceSymmetry& symmetry, std::span<const double> surcharge_ms,
              const std::vector<double>& star_loads);

  // Whether arc consistency and matching refute the target. What an interruption leaves open is not refuted.
  bool RefutesByMatching(double target_ms, Poller& poller);
  // Whether the embedding filter does, with `work` steps of some nanoseconds.
  bool RefutesByEmbedding(double target_ms, int64_t work, Poller& poller);

  // By device: the stages that it may take within the last target, or any smaller one, as bits.
  std::vector<uint64_t> Allowed() const;

  int64_t work() const { return work_ + domains_.work() + matching_.work(); }

 private:
  bool Reset(double target_ms, Poller& poller);
  bool Settle(Poller& poller);
  bool FilterOnce(int64_t& work, bool& has_changed, Poller& poller);
  bool HasWitness(std::size_t place) const;
  void KeepWitness(const std::vector<int32_t>& devices);

  const ReplicaModel& model_;
  std::span<const double> surcharge_ms_;
  const std::vector<double>& star_loads_;
  ReplicaDomains domains_;
  StageMatching matching_;
  ReplicaEmbedder embedder_;
  std::vector<int32_t> devices_;
  // Replicas that fit the last target, and for stage s on device d at s * num_devices + d the one that it is in; -1:
  // none.
  std::vector<std::vector<int32_t>> witnesses_;
  std::vector<int32_t> witness_of_;
  int64_t work_ = 0;
};

// Devices by stage, for each replica; numbers of the model.
using ReplicaPlaces = std::vector<std::vector<int32_t>>;

// Not thread-safe. What it is given outlives it.
class LoadProver {
 public:
  // As LoadRefuter.
  LoadProver(const ReplicaModel& model, const DeviceSymmetry& symmetry, std::span<const double> surcharge_ms,
             const std::vector<double>& star_loads);

  // No mapping has a smaller largest load than `value_ms`, whatever proved it.
  void Raise(double value_ms, const std::string& method);

  // Spends about `work` steps of some nanoseconds, or less where the bound meets `value_ms`, the best known. Mappings
  // within a target that it comes by are returned.
  std::optional<ReplicaPlaces> Step(double value_ms, int64_t work, Poller& poller);

  double bound_ms() const { return bound_ms_; }
  // What the bound was raised by last.
  const std::string& method() const { return method_; }
  // The least target that filters could not refute so far; infinity: none was tried.
  double open_ms() const { return open_ms_; }
  int64_t nodes() const { return cover_.nodes(); }

 private:
  enum class Phase { kMatching, kEmbedding, kCover };

  double NextTarget(double value_ms) const;
  void Filter(double value_ms, int64_t work, Poller& poller);
  void EndPhase();
  std::optional<ReplicaPlaces> Search(double value_ms, int64_t work, Poller& poller);

  const ReplicaModel& model_;
  std::span<const double> surcharge_ms_;
  LoadRefuter refuter_;
  ReplicaCoverSearch cover_;
  std::vector<int32_t> devices_;
  Phase phase_ = Phase::kMatching;
  double bound_ms_ = 0;
  std::string method_;
  double open_ms_ = std::numeric_limits<double>::infinity();
  // Relative; of the next gallop.
  double stride_;
  // Where between the bound and the value cover searches aim.
  double ambition_ = 1;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROVE_LOAD_PROVER_H_
