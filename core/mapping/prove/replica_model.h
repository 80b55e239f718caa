// One replica of the stages on the devices that take part: the compiled form of an instance for bounds and exact
// search.
//
// Replicas are independent but for their devices: a mapping whose weighted loads stay within a target exists iff
// disjoint sets of devices hold all replicas. What a stage on a device may spend on transfers within the target is its
// *room*.
//
// Relaxations, all of which only ever admit too much: FULL_DUPLEX gives one port twice the time instead of two ports;
// with the objective kLoadAndAllReduce each place is charged the least all-reduce that it can take part in.
#ifndef PLANWRIGHT_CORE_MAPPING_PROVE_REPLICA_MODEL_H_
#define PLANWRIGHT_CORE_MAPPING_PROVE_REPLICA_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/index.h"
#include "core/base/limits.h"
#include "core/mapping/problem/mapping_instance.h"
#include "core/mapping/problem/mapping_tables.h"

namespace planwright {

// The traffic of two stages seen from one of them.
struct StageLink {
  // Owner, and the other end.
  int32_t stage = 0;
  int32_t other = 0;
  // Position of the same traffic seen from the other end.
  int32_t reverse = 0;
  double bytes_out = 0;
  double bytes_in = 0;
  double transfers_out = 0;
  double transfers_in = 0;

  double bytes() const { return bytes_out + bytes_in; }
  double transfers() const { return transfers_out + transfers_in; }
};

// A device near another one.
struct NearDevice {
  int32_t device = 0;
  // In the faster direction.
  double ms_per_byte = 0;
};

// Devices that take part are numbered 0, 1, ... in ascending order of their ids. Immutable; instance and links outlive
// it.
class ReplicaModel {
 public:
  // Nearest devices that are listed for each device; what lies beyond is bounded, not searched.
  static constexpr std::size_t kMostListed = 1024;

  // Complexity O(devices^2 + devices x listed log listed). Where the limits say stop, the lists of near devices are
  // empty, which no search should start from.
  ReplicaModel(const MappingInstance& instance, const LinkTimes& links, const SolveLimits& limits = {});

  // The model of the same devices without any links between stages.
  ReplicaModel WithoutTraffic() const;

  const MappingInstance& instance() const { return instance_; }
  const LinkTimes& link_times() const { return link_times_; }
  int32_t num_stages() const { return instance_.num_stages(); }
  // Of each stage. REQUIRES: all have equally many.
  int32_t num_replicas() const { return instance_.replicas.Of(0); }
  int32_t num_devices() const { return static_cast<int32_t>(devices_.size()); }
  DeviceId device(int32_t number) const { return devices_[Index(number)]; }
  // -1: takes no part.
  int32_t NumberOf(DeviceId device) const { return numbers_[device.index()]; }
  int32_t KindOf(int32_t device) const { return instance_.device_kind[devices_[Index(device)].index()]; }

  const std::vector<StageLink>& links() const { return links_; }
  // Positions in links() of what a stage owns: first_link(stage) .. first_link(stage + 1) - 1.
  int32_t first_link(int32_t stage) const { return first_link_[Index(stage)]; }
  std::span<const StageLink> LinksOf(int32_t stage) const {
    return std::span(links_).subspan(Index(first_link(stage)), Index(first_link(stage + 1) - first_link(stage)));
  }

  // By ascending (ms_per_byte, device). Complete iff it has num_devices() - 1 entries.
  std::span<const NearDevice> NearOf(int32_t device) const {
    return std::span(near_).subspan(Index(device) * listed_, listed_);
  }
  bool ListsAll() const { return listed_ + 1 == devices_.size(); }
  // By device: the part, numbered from 0, in which links to listed near devices of at most ms_per_byte hold it.
  // O(devices x list).
  std::vector<int32_t> PartsWithin(double ms_per_byte) const;

  const LinkTime& Between(int32_t a, int32_t b) const { return link_times_.Between(device(a), device(b)); }
  std::size_t ClassOf(int32_t a, int32_t b) const { return link_times_.ClassOf(device(a), device(b)); }
  // The transfers of `link` with its owner on a and its other end on b. REQUIRES: a != b.
  double TimeOf(const StageLink& link, int32_t a, int32_t b) const;
  // At most TimeOf for every pair of devices whose faster direction takes ms_per_byte.
  double LeastTimeOf(const StageLink& link, double ms_per_byte) const {
    return link.bytes() * ms_per_byte + link.transfers() * least_latency_ms_;
  }
  double least_latency_ms() const { return least_latency_ms_; }

  // Milliseconds of transfers that a replica of the stage on a device may have within the target of its weighted load
  // and of what `surcharge_ms` adds to it; negative: none. The target is weighted.
  double Room(int32_t stage, int32_t device, double target_ms, double surcharge_ms = 0) const;
  // The weighted load of a replica with these times, surcharge included: the least target that leaves it room.
  double WeightedLoad(double compute_ms, double transfers_ms, double surcharge_ms) const;

 private:
  void AddLinks();
  void ListNearDevices(const SolveLimits& limits);

  const MappingInstance& instance_;
  const LinkTimes& link_times_;
  std::vector<DeviceId> devices_;
  std::vector<int32_t> numbers_;
  std::vector<StageLink> links_;
  std::vector<int32_t> first_link_;
  std::vector<NearDevice> near_;
  std::size_t listed_ = 0;
  double least_latency_ms_ = 0;
};

// How closely the proofs of bounds tell targets apart.
// Times a value: just below it, closer than mappings that differ, further than rounding.
inline constexpr double kJustBelowValue = 1 - 5e-10;
// What is refuted and what is not are as close as that before the next means is used.
inline constexpr double kTargetsMeet = 1 + 1e-7;

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROVE_REPLICA_MODEL_H_
