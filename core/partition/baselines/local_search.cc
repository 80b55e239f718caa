// Baseline: steepest descent from random assignments (device-placement section 6, "Local search", after [MKA07]).
//
// Starts with every block on a random accelerator and makes the move of one block that lowers the max load most, until
// none lowers it; 10 times. As in the paper's program the blocks are those that the contiguous search works on, memory
// is ignored (a result that does not fit is refused), and CPUs take only what no accelerator can run. Loads pay each
// net once per device. A move can lower the max load only where it takes a block from the busiest device or gives it
// one, so the others are not looked at.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/base/random.h"
#include "core/partition/baselines/device_assignment.h"
#include "core/partition/baselines/proposals.h"
#include "core/partition/search/block_instance.h"
#include "core/partition/search/search_record.h"

namespace planwright {
namespace {

constexpr int kRestarts = 10;
constexpr int64_t kDefaultWork = 50'000'000;

struct Move {
  std::size_t block = 0;
  std::size_t target = 0;
  int64_t max_load = 0;
};

// The loads of all devices while blocks move between them.
class Assignment {
 public:
  explicit Assignment(const BlockInstance& instance) : instance_(instance) {
    for (const DevicePool& pool : instance.pools) {
      for (const DeviceId device : pool.devices) devices_.emplace_back(device, &pool);
    }
    pins_.assign(instance.nets.size() * devices_.size(), 0);
  }

  std::size_t num_devices() const { return devices_.size(); }
  const DevicePool& pool_of(std::size_t device) const { return *devices_[device].second; }
  std::size_t device_of(std::size_t block) const { return device_of_[block]; }
  const std::vector<std::size_t>& devices_of_blocks() const { return device_of_; }
  DeviceId id(std::size_t device) const { return devices_[device].first; }

  void Restart(std::vector<std::size_t> device_of) {
    device_of_ = std::move(device_of);
    std::fill(pins_.begin(), pins_.end(), 0);
    load_.assign(devices_.size(), 0);
    for (std::size_t block = 0; block < device_of_.size(); ++block) {
      load_[device_of_[block]] += TimeOn(block, device_of_[block]);
      for (const int32_t net : instance_.nets_of[block]) ++PinsOn(net, device_of_[block]);
    }
    for (std::size_t net = 0; net < instance_.nets.size(); ++net) {
      for (std::size_t device = 0; device < devices_.size(); ++device) {
        load_[device] += Charge(static_cast<int32_t>(net), device, PinsOn(static_cast<int32_t>(net), device));
      }
    }
  }

  // The busiest device, ties by position.
  std::size_t Busiest() const {
    return static_cast<std::size_t>(std::max_element(load_.begin(), load_.end()) - load_.begin());
  }
  int64_t max_load() const { return *std::max_element(load_.begin(), load_.end()); }

  // Loads of the two devices after `block` has moved to `target`.
  std::pair<int64_t, int64_t> LoadsAfter(std::size_t block, std::size_t target) const {
    const std::size_t source = device_of_[block];
    int64_t left = load_[source] - TimeOn(block, source);
    int64_t reached = load_[target] + TimeOn(block, target);
    for (const int32_t net : instance_.nets_of[block]) {
      const int32_t on_source = PinsOn(net, source);
      const int32_t on_target = PinsOn(net, target);
      left += Charge(net, source, on_source - 1) - Charge(net, source, on_source);
      reached += Charge(net, target, on_target + 1) - Charge(net, target, on_target);
    }
    return {left, reached};
  }

  void Apply(std::size_t block, std::size_t target) {
    const std::size_t source = device_of_[block];
    std::tie(load_[source], load_[target]) = LoadsAfter(block, target);
    device_of_[block] = target;
    for (const int32_t net : instance_.nets_of[block]) {
      --PinsOn(net, source);
      ++PinsOn(net, target);
    }
  }

  // The greatest load of a device other than these two.
  int64_t MaxLoadBeside(std::size_t a, std::size_t b) const {
    int64_t greatest = 0;
    for (std::size_t device = 0; device < load_.size(); ++device) {
      if (device != a && device != b) greatest = std::max(greatest, load_[device]);
    }
    return greatest;
  }

 private:
  int64_t TimeOn(std::size_t block, std::size_t device) const { return pool_of(device).time[block]; }
  int32_t& PinsOn(int32_t net, std::size_t device) { return pins_[Index(net) * devices_.size() + device]; }
  int32_t PinsOn(int32_t net, std::size_t device) const { return pins_[Index(net) * devices_.size() + device]; }
  // What `device` pays for `net` with that many of its pins.
  int64_t Charge(int32_t net, std::size_t device, int32_t pins) const {
    const Net& data = instance_.nets[Index(net)];
    const bool is_cut = pins > 0 && Index(pins) < data.blocks.size();
    return is_cut && pool_of(device).pays_transfers ? data.weight : 0;
  }

  const BlockInstance& instance_;
  std::vector<std::pair<DeviceId, const DevicePool*>> devices_;
  std::vector<std::size_t> device_of_;
  std::vector<int64_t> load_;
  std::vector<int32_t> pins_;
};

class Descent {
 public:
  Descent(const SearchRequest& request, const BlockInstance& instance, const SolveLimits& limits, Proposals& proposals)
      : request_(request),
        instance_(instance),
        limits_(limits),
        proposals_(proposals),
        work_limit_(std::min(request.options.work_limit.value_or(kDefaultWork), limits.work)),
        assignment_(instance) {
    for (std::size_t block = 0; block < instance.operators.size(); ++block) targets_.push_back(TargetsOf(block));
  }

  void Run() {
    for (int restart = 0; restart < kRestarts && !is_stopped_; ++restart) {
      RandomStream random(static_cast<uint64_t>(request_.options.seed), static_cast<uint64_t>(restart));
      assignment_.Restart(RandomDevices(random));
      while (const std::optional<Move> move = BestMove()) assignment_.Apply(move->block, move->target);
      const std::vector<DeviceId> device_of =
          Mapped(assignment_.devices_of_blocks(), [&](const std::size_t device) { return assignment_.id(device); });
      proposals_.Propose(PlacementOfBlocks(request_, instance_, device_of));
      ++proposals_.record().counters()["restarts"];
    }
    proposals_.record().counters()["moves"] = proposals_.record().work();
  }

 private:
  // The accelerators that can run `block`, else the CPUs that can.
  std::vector<std::size_t> TargetsOf(std::size_t block) const {
    for (const DeviceKind kind : {DeviceKind::kAccelerator, DeviceKind::kCpu}) {
      std::vector<std::size_t> targets;
      for (std::size_t device = 0; device < assignment_.num_devices(); ++device) {
        const DevicePool& pool = assignment_.pool_of(device);
        const bool is_kind = request_.cluster.device_classes[pool.device_class.index()].kind == kind;
        if (is_kind && pool.supported[block]) targets.push_back(device);
      }
      if (!targets.empty()) return targets;
    }
    return {};
  }

  std::vector<std::size_t> RandomDevices(RandomStream& random) const {
    return Mapped(targets_,
                  [&](const std::vector<std::size_t>& targets) { return targets[random.Below(targets.size())]; });
  }

  // The move to the least max load, if that is less than now; ties by block and target. nullopt too when stopped.
  std::optional<Move> BestMove() {
    const std::size_t busiest = assignment_.Busiest();
    std::optional<Move> best;
    int64_t least = assignment_.max_load();
    for (std::size_t block = 0; block < targets_.size(); ++block) {
      const bool leaves = assignment_.device_of(block) == busiest;
      for (const std::size_t target : targets_[block]) {
        if (target == assignment_.device_of(block) || (!leaves && target != busiest)) continue;
        if (MustStop()) return std::nullopt;
        const auto [left, reached] = assignment_.LoadsAfter(block, target);
        if (std::max(left, reached) >= least) continue;
        const int64_t beside = assignment_.MaxLoadBeside(assignment_.device_of(block), target);
        const int64_t max_load = std::max({left, reached, beside});
        if (max_load >= least) continue;
        least = max_load;
        best = Move{block, target, max_load};
      }
    }
    return best;
  }

  bool MustStop() {
    constexpr int64_t kMovesBetweenLooksAtTheClock = 256;
    SearchRecord& record = proposals_.record();
    record.AddWork(1);
    if (record.work() > work_limit_) {
      record.set_stop_reason(StopReason::kWorkLimit);
      is_stopped_ = true;
    } else if (record.work() % kMovesBetweenLooksAtTheClock == 0 && CheckInterruption(limits_).has_value()) {
      record.set_stop_reason(StopReasonOf(limits_, StopReason::kTimeLimit));
      is_stopped_ = true;
    }
    return is_stopped_;
  }

  const SearchRequest& request_;
  const BlockInstance& instance_;
  const SolveLimits& limits_;
  Proposals& proposals_;
  const int64_t work_limit_;
  Assignment assignment_;
  // Positions of the devices that each block may be on.
  std::vector<std::vector<std::size_t>> targets_;
  bool is_stopped_ = false;
};

// Whether every block has a pool that can run it.
bool IsRunnable(const BlockInstance& instance) {
  for (std::size_t block = 0; block < instance.operators.size(); ++block) {
    const auto runs = [block](const DevicePool& pool) { return pool.supported[block]; };
    if (std::none_of(instance.pools.begin(), instance.pools.end(), runs)) return false;
  }
  return true;
}

}  // namespace

void ProposeLocalSearch(const SearchRequest& request, const SolveLimits& limits, TaskArena& /*arena*/,
                        Proposals& proposals) {
  const BlockInstance instance = BuildBlockInstance(request, MergeRule::kNever);
  const int64_t counters = static_cast<int64_t>(instance.nets.size() + instance.operators.size()) *
                           static_cast<int64_t>(request.cluster.devices.size());
  if (counters > limits.memory_bytes / static_cast<int64_t>(sizeof(int64_t))) {
    proposals.record().set_stop_reason(StopReason::kMemoryLimit);
    return;
  }
  if (!IsRunnable(instance)) {
    proposals.Refuse("no device can run all operators that must share one");
    return;
  }
  Descent(request, instance, limits, proposals).Run();
}

}  // namespace planwright
