// Which stages each device can still run within a target: arc consistency with least transfer times, undone by a trail.
//
// For a stage on a device and each of its links, the nearest device that the other end may take supports the place; the
// sum of the least transfer times over all links must fit the room of the place, and so must that of the supporting
// place with this transfer in place of its least one. Places without support are removed until nothing changes. Every
// mapping within the target only uses places that remain.
//
// Complexity: a removed or costlier place makes O(devices) comparisons for each link of its stage, and each support
// moves through a list of near devices once between two marks. Source: the least-support scheme of AC-2001 (Bessiere,
// Regin 2001) on sums.
#ifndef PLANWRIGHT_CORE_MAPPING_PROVE_REPLICA_DOMAINS_H_
#define PLANWRIGHT_CORE_MAPPING_PROVE_REPLICA_DOMAINS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/polling.h"
#include "core/mapping/prove/replica_model.h"

namespace planwright {

// A stage in a set of stages.
inline uint64_t BitOfStage(int32_t stage) { return uint64_t{1} << static_cast<unsigned>(stage); }

// Not thread-safe. The model outlives it.
class ReplicaDomains {
 public:
  // More stages than that have no bits of their own in a word.
  static constexpr int32_t kMostStages = 63;

  // REQUIRES: at most kMostStages stages.
  explicit ReplicaDomains(const ReplicaModel& model);

  // Starts over: `replicas` replicas are to be placed on `devices` within the target. `surcharge_ms`: for stage s on
  // device d at s * num_devices + d, see ReplicaModel::Room; may be empty. False: impossible.
  bool Reset(std::span<const int32_t> devices, int32_t replicas, double target_ms, std::span<const double> surcharge_ms,
             Poller& poller);

  // One replica has been placed on these devices. False: the rest is impossible.
  bool TakeReplica(std::span<const int32_t> devices, Poller& poller);
  // The device is to stay idle. False: the rest is impossible.
  bool LeaveIdle(int32_t device, Poller& poller);
  // No replica of a stage outside of `stages` goes to the device. Propagate afterwards.
  void Keep(int32_t device, uint64_t stages);
  // Prunes to the fixpoint. False: the rest is impossible, which holds for interrupted calls no less: they say true.
  bool Propagate(Poller& poller);

  // UndoTo(mark) restores what was at hand at Mark().
  std::size_t Mark() const { return trail_.size(); }
  void UndoTo(std::size_t mark);

  bool Has(int32_t stage, int32_t device) const { return (StagesOf(device) >> static_cast<unsigned>(stage) & 1U) != 0; }
  // The stages that the device may take, as bits. None for devices that are taken or idle.
  uint64_t StagesOf(int32_t device) const { return stages_of_[Index(device)]; }
  bool IsFree(int32_t device) const { return is_free_[Index(device)] != 0; }
  int32_t replicas_left() const { return replicas_left_; }
  // Free devices that no replica needs.
  int32_t num_spare() const { return num_free_ - replicas_left_ * model_.num_stages(); }
  // Bounds for a place that remains: the least time of one of its links, and of all of them together.
  double Least(int32_t link, int32_t device) const { return least_[At(link, device)]; }
  double Total(int32_t stage, int32_t device) const { return total_[At(stage, device)]; }
  double Room(int32_t stage, int32_t device) const { return room_[At(stage, device)]; }
  // Whether the link can have its owner on `device` and its other end on `other`, both of which remain.
  bool Supports(const StageLink& link, int32_t device, int32_t other, double time_ms) const;

  // Steps of some nanoseconds since the object was made.
  int64_t work() const { return work_; }

 private:
  struct Saved {
    enum class What : uint8_t { kStages, kTotal, kSupport, kFree, kReplicas };
    What what;
    std::size_t at;
    uint64_t stages = 0;
    double value = 0;
    int32_t first = 0;
    int32_t device = 0;
  };

  // Places and supports alike: rows of devices.
  std::size_t At(int32_t row, int32_t device) const { return Index(row) * Index(model_.num_devices()) + Index(device); }
  void Clear();
  void ClearQueue();
  void SetFree(int32_t device, bool is_free);
  bool FindSupport(int32_t link, int32_t device);
  int32_t Advance(const StageLink& link, int32_t device, int32_t first) const;
  bool IsSupport(const StageLink& link, int32_t device, const NearDevice& near) const;
  void SetSupport(int32_t link, int32_t device, int32_t first, int32_t supporter, double least);
  void SetStages(int32_t device, uint64_t stages);
  void ChangeStages(int32_t device, uint64_t stages);
  void Remove(int32_t stage, int32_t device);
  void TakeAway(int32_t device);
  void Touch(int32_t stage, int32_t device);
  void Recheck(int32_t stage, int32_t device);
  bool IsPossible() const;
  bool MustStop(Poller& poller);

  const ReplicaModel& model_;
  std::vector<uint64_t> stages_of_;
  std::vector<uint8_t> is_free_;
  int32_t num_free_ = 0;
  int32_t replicas_left_ = 0;
  // Free devices without a stage.
  int32_t num_dead_ = 0;
  // By stage: devices that it may take.
  std::vector<int32_t> count_;
  std::vector<double> room_;
  std::vector<double> total_;
  // By link and device: least time, position in the list of near devices before which nothing supports, supporting
  // device (-1: one beyond the list).
  std::vector<double> least_;
  std::vector<int32_t> first_;
  std::vector<int32_t> supporter_;
  // Places whose supporters must be looked at again.
  std::vector<std::size_t> queue_;
  std::vector<uint8_t> is_queued_;
  std::vector<Saved> trail_;
  int64_t work_ = 0;
  uint32_t steps_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROVE_REPLICA_DOMAINS_H_
