// All ways to place one replica with a given stage on a given device, depth first.
//
// The next stage is the neighbour of a placed one with the fewest devices left. Its candidates lie at the head of the
// list of devices near a placed neighbour, as far as that one has room. Least transfer times of links whose other end
// is not placed are charged on both sides. A candidate is skipped where a device that can change places with it comes
// first; never the device that is given.
#ifndef PLANWRIGHT_CORE_MAPPING_PROVE_REPLICA_EMBEDDER_H_
#define PLANWRIGHT_CORE_MAPPING_PROVE_REPLICA_EMBEDDER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/polling.h"
#include "core/base/random.h"
#include "core/mapping/prove/device_symmetry.h"
#include "core/mapping/prove/replica_domains.h"

namespace planwright {

enum class EmbeddingEnd {
  // All of them were shown.
  kExhausted,
  // The visitor had enough.
  kAccepted,
  // Too much work, or interrupted.
  kCut,
};

// Keeps its memory from call to call; one at a time. What it is given outlives it.
class ReplicaEmbedder {
 public:
  // Devices of a replica by stage; true: enough.
  using Visitor = std::function<bool(const std::vector<int32_t>& devices)>;

  ReplicaEmbedder(const ReplicaModel& model, const ReplicaDomains& domains, const DeviceSymmetry& symmetry);

  // The domains may change while the visitor runs if it restores them. `work` is charged in steps of some nanoseconds;
  // the enumeration is cut below 0. `shuffle`: candidates in random order rather than the nearest first; may be null.
  EmbeddingEnd Enumerate(int32_t stage, int32_t device, int64_t& work, RandomStream* shuffle, Poller& poller,
                         const Visitor& visitor);

 private:
  static constexpr int32_t kNowhere = -1;

  struct Candidate {
    int32_t device = 0;
    double order = 0;
  };

  void Start();
  EmbeddingEnd Extend(int32_t placed);
  int32_t ChooseStage(std::vector<Candidate>& candidates);
  void CollectNear(int32_t stage, const StageLink& anchor, std::size_t most, std::vector<Candidate>& candidates);
  void CollectAll(int32_t stage, std::size_t most, std::vector<Candidate>& candidates);
  const StageLink* AnchorOf(int32_t stage) const;
  bool Fits(int32_t stage, int32_t device);
  bool IsRepeated(int32_t device) const;
  void Place(int32_t stage, int32_t device);
  void Unplace(int32_t stage);
  // What the link takes beyond its least time.
  double Excess(const StageLink& link, int32_t device, double time_ms) const;

  const ReplicaModel& model_;
  const ReplicaDomains& domains_;
  const DeviceSymmetry& symmetry_;
  // By stage: device, and the room left when every link to a stage that is not placed takes its least time.
  std::vector<int32_t> device_of_;
  std::vector<double> slack_;
  // Slack of neighbours before each placement, the last one on top: sums would not come back to the bit.
  std::vector<double> slack_before_;
  std::vector<uint8_t> is_used_;
  // By block: its key when the enumeration began, devices of the replica in it.
  std::vector<FreeSetKey> block_keys_;
  std::vector<int32_t> used_of_block_;
  // By depth.
  std::vector<std::vector<Candidate>> candidates_;
  std::vector<Candidate> trial_;
  int64_t* work_ = nullptr;
  RandomStream* shuffle_ = nullptr;
  Poller* poller_ = nullptr;
  const Visitor* visitor_ = nullptr;
  uint32_t steps_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROVE_REPLICA_EMBEDDER_H_
