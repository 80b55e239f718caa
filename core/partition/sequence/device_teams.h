// Runs of a sequence of devices as the replicas of one stage.
#ifndef PLANWRIGHT_CORE_PARTITION_SEQUENCE_DEVICE_TEAMS_H_
#define PLANWRIGHT_CORE_PARTITION_SEQUENCE_DEVICE_TEAMS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/cost/terms/transfer.h"
#include "core/partition/search/search.h"
#include "core/partition/sequence/interval_table.h"

namespace planwright {

// Devices in the order in which a pipeline may use them.
using DeviceSequence = std::vector<DeviceId>;

// What a stage on consecutive devices of a sequence can be.
struct DeviceTeam {
  // All of one class, and some units may run there.
  bool is_valid = false;
  DeviceClassId device_class{0};
  // Each device has so much; nullopt: unlimited.
  std::optional<int64_t> memory_bytes;
  // The slowest link of its ring; without bandwidth where gradients are not reduced.
  LinkSpeed ring;
  // By end: where the longest stage begins that the class supports, and that pins and bans let be here.
  std::vector<std::size_t> first_begin;
};

// Teams of `replicas` devices each, from the last stage of a pipeline to the first: position 0 is the last device of
// the sequence. Answers are remembered, so that not every thread may ask.
class DeviceTeams {
 public:
  // All outlive the object. `first_begin_of`: by device and end, what pins and bans allow; empty: everything.
  DeviceTeams(const SearchRequest& request, const IntervalTable& table, const DeviceSequence& sequence,
              const std::vector<std::vector<std::size_t>>& first_begin_of, int32_t replicas);

  std::size_t num_positions() const { return sequence_.size(); }
  int32_t replicas() const { return replicas_; }
  DeviceId DeviceAt(std::size_t position) const { return sequence_[sequence_.size() - 1 - position]; }

  // The team on the positions from `begin` on. O(replicas) the first time.
  const DeviceTeam& TeamAt(std::size_t begin);
  // The slowest link between a team before, at the positions from `before` on, and as many devices that end before
  // `behind_end`, each with its counterpart. REQUIRES: behind_end <= before. O(replicas).
  std::size_t LinkBetween(std::size_t before, std::size_t behind_end) const;
  // The devices of the team in the order of the copies.
  std::vector<DeviceId> DevicesFrom(std::size_t begin) const;

 private:
  DeviceTeam MakeTeam(std::size_t begin) const;

  const SearchRequest& request_;
  const IntervalTable& table_;
  const DeviceSequence& sequence_;
  const std::vector<std::vector<std::size_t>>& first_begin_of_;
  const int32_t replicas_;
  // By link class: what all that may cross takes there.
  std::vector<int64_t> time_of_class_;
  // By position.
  std::vector<std::optional<DeviceTeam>> teams_;
};

// The devices of a stage, given in the order of its copies, in the order in which its ring visits them: that of the
// copies where it must be; else that of the cluster, on a hierarchy it is the best; elsewhere from one device to the
// nearest one left where that is faster. O(devices^2), at most 64 of them.
std::vector<DeviceId> RingOf(const SearchRequest& request, std::vector<DeviceId> devices);

// By device and end: where the longest stage begins whose operators pins and bans let be on the device. Empty:
// anywhere.
std::vector<std::vector<std::size_t>> AllowedBegins(const SearchRequest& request, const UnitOrder& units);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEQUENCE_DEVICE_TEAMS_H_
