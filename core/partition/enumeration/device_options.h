// The devices among which an enumeration chooses, and which of them it need not tell apart.
//
// Two devices are of one *kind* if swapping them changes no placement's cost or feasibility: same class, same usable
// memory, same pins, bans and limits, equally fast links to every other device. Such swaps generate every permutation
// of a kind, so an enumeration that always takes the first idle device of a kind sees one placement of each orbit: the
// lexicographically smallest by the order in which it takes devices.
#ifndef PLANWRIGHT_CORE_PARTITION_ENUMERATION_DEVICE_OPTIONS_H_
#define PLANWRIGHT_CORE_PARTITION_ENUMERATION_DEVICE_OPTIONS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/base/index.h"
#include "core/cost/device_load.h"
#include "core/partition/search/allowed_devices.h"
#include "core/partition/search/search.h"

namespace planwright {

struct DeviceOption {
  DeviceId device;
  DeviceClassId device_class;
  // nullopt: unlimited.
  std::optional<int64_t> memory_bytes;
  bool is_cpu = false;
  std::size_t kind = 0;

  bool Fits(int64_t bytes) const { return !memory_bytes.has_value() || bytes <= *memory_bytes; }
};

// Immutable. Devices are named by their position in options().
class DeviceOptions {
 public:
  // Takes the devices that the problem selects. Complexity O(devices x kinds), times the devices where links differ,
  // and O(operators + pins and bans x devices).
  explicit DeviceOptions(const SearchRequest& request);

  const std::vector<DeviceOption>& options() const { return options_; }
  std::size_t size() const { return options_.size(); }
  const DeviceOption& operator[](std::size_t position) const { return options_[position]; }
  // Positions of each kind, ascending.
  const std::vector<std::vector<std::size_t>>& kinds() const { return kinds_; }

  // What some operators that share a device make of it, by position.
  struct Group {
    std::vector<bool> may_hold;
    std::vector<MicroBatchWork> compute;
    // On a device that may hold them; 0: none may.
    Picoseconds least_time{0};
  };
  Group MakeGroup(const std::vector<OperatorId>& operators) const;

  // By position: the class runs every one of `operators`, no pin says otherwise, and none is banned.
  std::vector<bool> MayHold(const std::vector<OperatorId>& operators) const;

  // How many of some devices may be in use; by position whether they count.
  struct Limit {
    std::vector<bool> counts;
    int64_t most = 0;
  };
  const std::vector<Limit>& limits() const { return limits_; }
  // The most devices that can be in use at a time.
  std::size_t max_used() const { return max_used_; }

 private:
  void AddLimits();
  void AddKinds();
  std::vector<bool> NamedByRules() const;
  bool AreAlike(std::size_t a, std::size_t b) const;

  const SearchRequest& request_;
  // By operator: what pins and bans leave.
  std::vector<DeviceSet> allowed_;
  std::vector<DeviceOption> options_;
  std::vector<std::vector<std::size_t>> kinds_;
  std::vector<Limit> limits_;
  std::size_t max_used_ = 0;
};

// In which orders the devices of a team are tried, where orders differ.
enum class TeamOrder { kAscending, kLeastFirst, kAny };

// Takes devices team by team, and gives them back. A team is of one class.
class TeamChooser {
 public:
  explicit TeamChooser(const DeviceOptions& devices)
      : devices_(devices), taken_of_kind_(devices.kinds().size()), room_(RoomOf(devices)), idle_(devices.max_used()) {}

  // Devices that may still be taken.
  std::size_t idle() const { return idle_; }

  // Takes every team of min_size .. max_size idle devices with may_hold(position), one after the other, and calls
  // visit(team) for each. REQUIRES: min_size >= 1; visit gives back what it takes.
  template <typename MayHold, typename Visit>
  void ForEach(TeamOrder order, std::size_t min_size, std::size_t max_size, const MayHold& may_hold,
               const Visit& visit) {
    std::vector<std::size_t> team;
    Extend(order, min_size, max_size, may_hold, visit, team);
  }

 private:
  static std::vector<int64_t> RoomOf(const DeviceOptions& devices) {
    return Mapped(devices.limits(), [&](const DeviceOptions::Limit& limit) { return limit.most; });
  }

  bool Take(std::size_t position) {
    for (std::size_t i = 0; i < room_.size(); ++i) {
      if (devices_.limits()[i].counts[position] && room_[i] == 0) return false;
    }
    Count(position, -1);
    return true;
  }

  void Count(std::size_t position, int64_t change) {
    for (std::size_t i = 0; i < room_.size(); ++i) {
      if (devices_.limits()[i].counts[position]) room_[i] += change;
    }
    idle_ = static_cast<std::size_t>(static_cast<int64_t>(idle_) + change);
  }

  template <typename MayHold, typename Visit>
  void Extend(TeamOrder order, std::size_t min_size, std::size_t max_size, const MayHold& may_hold, const Visit& visit,
              std::vector<std::size_t>& team) {
    if (team.size() >= min_size) visit(team);
    if (team.size() == max_size || idle_ == 0) return;
    for (std::size_t kind = 0; kind < taken_of_kind_.size(); ++kind) {
      const std::vector<std::size_t>& members = devices_.kinds()[kind];
      if (taken_of_kind_[kind] == members.size()) continue;
      const std::size_t position = members[taken_of_kind_[kind]];
      if (!team.empty() && !MayFollow(order, team, position)) continue;
      if (!may_hold(position) || !Take(position)) continue;
      ++taken_of_kind_[kind];
      team.push_back(position);
      Extend(order, min_size, max_size, may_hold, visit, team);
      team.pop_back();
      --taken_of_kind_[kind];
      Count(position, 1);
    }
  }

  bool MayFollow(TeamOrder order, const std::vector<std::size_t>& team, std::size_t position) const {
    if (devices_[position].device_class != devices_[team.front()].device_class) return false;
    if (order == TeamOrder::kAscending) return position > team.back();
    return order == TeamOrder::kAny || position > team.front();
  }

  const DeviceOptions& devices_;
  std::vector<std::size_t> taken_of_kind_;
  // By limit.
  std::vector<int64_t> room_;
  std::size_t idle_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_ENUMERATION_DEVICE_OPTIONS_H_
