#include "core/partition/noncontiguous/net_descent.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/index.h"

namespace planwright {
namespace {

constexpr std::size_t kLoadedDevices = 2;

class Descent {
 public:
  Descent(const NetTables& tables, NetAssignment start, int64_t moves, Poller& poller)
      : tables_(tables), max_moves_(moves), poller_(poller), state_(tables, std::move(start)) {
    load_ = state_.Objective();
  }

  DescentResult Run() {
    while (Improve(&Descent::MovesOne) || Improve(&Descent::MovesTwo)) continue;
    return {state_.assignment(), load_, moves_};
  }

 private:
  using Neighbourhood = bool (Descent::*)(int32_t group, int32_t to);

  // Whether some group of a most loaded device, sent somewhere, leads to a better assignment; then that is taken.
  bool Improve(Neighbourhood neighbourhood) {
    for (const int32_t device : MostLoaded()) {
      for (int32_t group = 0; group < tables_.num_groups(); ++group) {
        if (state_.device_of(group) != device) continue;
        if (poller_.ShouldStopNow()) return false;
        for (int32_t to = 0; to < tables_.num_devices(); ++to) {
          if (moves_ >= max_moves_) return false;
          if (MayMove(group, to) && (this->*neighbourhood)(group, to)) return true;
        }
      }
    }
    return false;
  }

  std::vector<int32_t> MostLoaded() const {
    std::vector<int32_t> devices = FirstNumbers(Index(tables_.num_devices()));
    std::stable_sort(devices.begin(), devices.end(),
                     [&](int32_t a, int32_t b) { return state_.load(a) > state_.load(b); });
    devices.resize(std::min(devices.size(), kLoadedDevices));
    return devices;
  }

  bool MayMove(int32_t group, int32_t to) const {
    return to != state_.device_of(group) && state_.replicas(to) > 0 && tables_.may_run(group, to);
  }

  bool MovesOne(int32_t group, int32_t to) {
    ++moves_;
    const int32_t from = state_.device_of(group);
    state_.Preview(group, to, effect_);
    if (ObjectiveAfter() >= load_) return false;
    state_.Move(group, to, effect_);
    if (!state_.fits_memory()) {
      Move(group, from);
      return false;
    }
    load_ = state_.Objective();
    return true;
  }

  bool MovesTwo(int32_t group, int32_t to) {
    ++moves_;
    const int32_t from = state_.device_of(group);
    Move(group, to);
    for (int32_t other = 0; other < tables_.num_groups(); ++other) {
      if (other != group && state_.device_of(other) == to && GoesAnywhere(other)) return true;
    }
    for (const int32_t net : tables_.nets_of(group)) {
      const auto groups = tables_.groups_of(net);
      if (groups.size() > kMostTellingGroups) continue;
      for (const int32_t other : groups) {
        if (other != group && state_.device_of(other) != to && GoesAnywhere(other)) return true;
      }
    }
    Move(group, from);
    return false;
  }

  bool GoesAnywhere(int32_t group) {
    for (int32_t to = 0; to < tables_.num_devices(); ++to) {
      if (moves_ < max_moves_ && MayMove(group, to) && MovesOne(group, to)) return true;
    }
    return false;
  }

  void Move(int32_t group, int32_t to) {
    state_.Preview(group, to, effect_);
    state_.Move(group, to, effect_);
  }

  // After the move that was previewed.
  int64_t ObjectiveAfter() const {
    PhaseLoads greatest;
    for (int32_t device = 0; device < tables_.num_devices(); ++device) {
      ReplicaWork work = state_.work(device);
      for (const MoveEffect::Change& change : effect_.changes) {
        if (change.device == device) work += change.work;
      }
      const PhaseLoads loads = state_.LoadsWith(device, work);
      greatest.main = std::max(greatest.main, loads.main);
      greatest.backward = std::max(greatest.backward, loads.backward);
    }
    return greatest.total().count();
  }

  const NetTables& tables_;
  const int64_t max_moves_;
  Poller& poller_;
  NetState state_;
  int64_t load_ = 0;
  int64_t moves_ = 0;
  MoveEffect effect_;
};

}  // namespace

DescentResult Descend(const NetTables& tables, NetAssignment start, int64_t moves, Poller& poller) {
  return Descent(tables, std::move(start), moves, poller).Run();
}

}  // namespace planwright
