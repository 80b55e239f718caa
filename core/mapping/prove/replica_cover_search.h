// Whether all replicas fit within a target: exact cover of the free devices by replicas, one replica at a time.
//
// The device that is hardest to use gets a replica first (or stays idle, where devices may): so the order of replicas
// is never searched. After each replica the domains of what is left are made consistent again (replica_domains.h,
// stage_matching.h). Sets of free devices that failed are remembered up to symmetry. Bottom of the search: no replicas
// left. Complete unless cut by its work; what it refutes is refuted for every mapping.
#ifndef PLANWRIGHT_CORE_MAPPING_PROVE_REPLICA_COVER_SEARCH_H_
#define PLANWRIGHT_CORE_MAPPING_PROVE_REPLICA_COVER_SEARCH_H_

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "core/base/polling.h"
#include "core/base/random.h"
#include "core/mapping/prove/device_symmetry.h"
#include "core/mapping/prove/replica_domains.h"
#include "core/mapping/prove/replica_embedder.h"
#include "core/mapping/prove/stage_matching.h"

namespace planwright {

enum class ReplicaCoverAnswer { kFound, kNone, kUnknown };

struct ReplicaCoverQuestion {
  // Numbers of the model. At least num_stages for each replica; the rest stays idle.
  std::span<const int32_t> devices;
  int32_t replicas = 0;
  // The most that any weighted load may be, with its surcharge.
  double target_ms = 0;
  // As ReplicaDomains::Reset.
  std::span<const double> surcharge_ms = {};
  // By device: stages that it may take, as bits; may be empty.
  std::span<const uint64_t> allowed = {};
  // Steps of some nanoseconds.
  int64_t work = 0;
  // Candidates in random order rather than the nearest first.
  bool is_shuffled = false;
  uint64_t seed = 0;
};

// Keeps its memory, and what failed, from question to question. Not thread-safe. What it is given outlives it.
class ReplicaCoverSearch {
 public:
  ReplicaCoverSearch(const ReplicaModel& model, const DeviceSymmetry& symmetry);

  ReplicaCoverAnswer Ask(const ReplicaCoverQuestion& question, Poller& poller);

  // After kFound: for each replica the device of each stage.
  const std::vector<std::vector<int32_t>>& replicas() const { return replicas_; }
  // What all questions took together.
  int64_t nodes() const { return nodes_; }
  int64_t work() const { return work_; }

 private:
  bool Enter();
  ReplicaCoverAnswer Explore(std::size_t depth);
  ReplicaCoverAnswer Branch(std::size_t depth);
  ReplicaCoverAnswer PlaceReplica(std::size_t depth, int32_t stage, int32_t device);
  ReplicaCoverAnswer Idle(std::size_t depth, int32_t device);
  bool PruneByMatching();
  int32_t HardestDevice(std::vector<int32_t>& stages);
  int64_t Supports(int32_t stage, int32_t device, int64_t most);
  FreeSetKey Key() const;
  ReplicaEmbedder& EmbedderAt(std::size_t depth);
  void Charge();

  const ReplicaModel& model_;
  const DeviceSymmetry& symmetry_;
  ReplicaDomains domains_;
  StageMatching matching_;
  std::vector<std::unique_ptr<ReplicaEmbedder>> embedders_;
  const ReplicaCoverQuestion* question_ = nullptr;
  Poller* poller_ = nullptr;
  RandomStream random_{0};
  std::vector<std::vector<int32_t>> replicas_;
  // Free sets without a solution at failed_target_ms_, that of the last question.
  std::unordered_set<FreeSetKey, FreeSetKeyHash> failed_;
  double failed_target_ms_ = 0;
  int64_t left_ = 0;
  // The part of the work of domains and matching that is already charged.
  int64_t charged_ = 0;
  int64_t work_ = 0;
  int64_t nodes_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROVE_REPLICA_COVER_SEARCH_H_
