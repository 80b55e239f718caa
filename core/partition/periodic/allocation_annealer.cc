#include "core/partition/periodic/allocation_annealer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/base/polling.h"
#include "core/schedule/delay.h"

namespace planwright {
namespace {

constexpr double kLinkWeight = 0.5;

double Excess(int64_t value, int64_t limit) {
  return value > limit ? static_cast<double>(value - limit) / static_cast<double>(std::max<int64_t>(1, limit)) : 0;
}

// Shares of the kinds of moves, in percent; the rest merges neighbours.
constexpr uint64_t kMoveCut = 40;
constexpr uint64_t kRemap = 15;
constexpr uint64_t kSwap = 10;
constexpr uint64_t kSplit = 20;
// The target is that much shorter than the best period known, until the last part of a run takes any improvement.
constexpr double kAmbition = 0.002;
constexpr double kLastPart = 0.75;
// Temperatures: energies of some percent matter first, of some thousandths last.
constexpr double kHeat = 0.05;
constexpr double kFinalHeat = 0.003;
constexpr double kCoolings = 5;
// What an allocation that only the pattern search refutes is worth.
constexpr double kRefutedEnergy = 0.01;
// Stages in all: more make the pattern search slow and were never better.
constexpr std::size_t kStagesPerDevice = 2;
constexpr std::size_t kMoreStages = 4;
constexpr int64_t kMovesPerLook = 64;
// Cuts move by up to 2, 4, .. layers: once more for every doubling of the chain from here on.
constexpr std::size_t kLayersPerScale = 32;

std::size_t MaxStages(const ChainSums& sums, const ChainDevices& devices, int32_t max_stages_per_device) {
  const std::size_t devices_count = Index(devices.count);
  return std::min({Index(sums.num_layers()), devices_count * Index(max_stages_per_device),
                   kStagesPerDevice * devices_count + kMoreStages});
}

class Annealer {
 public:
  Annealer(const Chain& chain, const ChainSums& sums, const ChainDevices& devices, int32_t max_stages_per_device,
           RandomStream random)
      : sums_(sums),
        devices_(devices),
        max_stages_per_device_(max_stages_per_device),
        max_stages_(MaxStages(sums, devices, max_stages_per_device)),
        random_(random),
        energy_(chain, sums, devices),
        searcher_(chain, sums, devices),
        new_name_(Index(devices.count)) {}

  AnnealedAllocation Run(const ChainAllocation& start, Picoseconds known, const SolveLimits& limits) {
    current_ = start;
    known_ = known;
    Poller poller(limits);
    double energy = INFINITY;
    while (run_.work.units < limits.work) {
      if (run_.work.moves % kMovesPerLook == 0) {
        if (poller.ShouldStopNow()) break;
        progress_ = static_cast<double>(run_.work.units) / static_cast<double>(limits.work);
        temperature_ = kFinalHeat + kHeat * std::exp(-kCoolings * progress_);
        Aim();
      }
      ++run_.work.moves;
      ++run_.work.units;
      candidate_ = current_;
      if (!Propose()) continue;
      const double changed = Judge(limits);
      const double rise = changed - energy;
      if (rise > 0 && random_.Unit() >= std::exp(-rise / temperature_)) continue;
      energy = changed;
      std::swap(current_, candidate_);
    }
    return std::move(run_);
  }

 private:
  // They change `candidate_`; false: there is nothing to change, or it may not be.
  bool Propose() {
    const uint64_t kind = random_.Below(100);
    if (kind < kMoveCut) return MoveCut();
    if (kind < kMoveCut + kRemap) return Remap();
    if (kind < kMoveCut + kRemap + kSwap) return Swap();
    if (kind < kMoveCut + kRemap + kSwap + kSplit) return Split();
    return Merge();
  }

  // By a few layers, on long chains sometimes by more.
  bool MoveCut() {
    if (candidate_.size() < 2) return false;
    const std::size_t behind = 1 + Below(candidate_.size() - 1);
    const auto scales = static_cast<std::size_t>(std::bit_width(Index(sums_.num_layers()) / kLayersPerScale));
    const auto step = static_cast<int32_t>(1 + Below(std::size_t{2} << Below(scales + 1)));
    int32_t& cut = candidate_[behind].first_layer;
    const int32_t moved = random_.Below(2) == 0 ? cut - step : cut + step;
    if (moved <= candidate_[behind - 1].first_layer || moved > candidate_[behind].last_layer) return false;
    cut = moved;
    candidate_[behind - 1].last_layer = moved - 1;
    return true;
  }

  bool Remap() {
    ChainStage& stage = candidate_[Below(candidate_.size())];
    const auto device = static_cast<int32_t>(Below(Index(devices_.count)));
    return std::exchange(stage.device, device) != device && HasRoom(device);
  }

  bool Swap() {
    ChainStage& a = candidate_[Below(candidate_.size())];
    ChainStage& b = candidate_[Below(candidate_.size())];
    std::swap(a.device, b.device);
    return a.device != b.device;
  }

  // One half may go to another device.
  bool Split() {
    if (candidate_.size() >= max_stages_) return false;
    const std::size_t position = Below(candidate_.size());
    ChainStage& front = candidate_[position];
    if (front.first_layer == front.last_layer) return false;
    const auto layers = Index(front.last_layer - front.first_layer);
    ChainStage back = front;
    back.first_layer += static_cast<int32_t>(1 + Below(layers));
    front.last_layer = back.first_layer - 1;
    const auto device = static_cast<int32_t>(Below(Index(devices_.count)));
    const uint64_t who = random_.Below(3);
    if (who == 0) front.device = device;
    if (who == 1) back.device = device;
    const int32_t front_device = front.device;
    candidate_.insert(candidate_.begin() + static_cast<std::ptrdiff_t>(position) + 1, back);
    return HasRoom(front_device) && HasRoom(back.device);
  }

  bool Merge() {
    if (candidate_.size() < 2) return false;
    const std::size_t behind = 1 + Below(candidate_.size() - 1);
    candidate_[behind].first_layer = candidate_[behind - 1].first_layer;
    if (random_.Below(2) == 0) candidate_[behind].device = candidate_[behind - 1].device;
    const int32_t device = candidate_[behind].device;
    candidate_.erase(candidate_.begin() + static_cast<std::ptrdiff_t>(behind) - 1);
    return HasRoom(device);
  }

  // Of the stages that it may hold.
  bool HasRoom(int32_t device) const {
    const auto is_there = [device](const ChainStage& stage) { return stage.device == device; };
    return std::count_if(candidate_.begin(), candidate_.end(), is_there) <= max_stages_per_device_;
  }

  // Energy of `candidate_`, on which the pattern search has the last word.
  double Judge(const SolveLimits& limits) {
    const double energy = energy_.Of(candidate_, target_);
    if (energy > 0) return energy;
    const uint64_t fingerprint = Fingerprint(candidate_);
    if (refuted_.contains(fingerprint)) return kRefutedEnergy;
    searcher_.SetAllocation(candidate_);
    const SolveLimits judging = JudgeLimits(limits, searcher_, kJudgeNodes, limits.work - run_.work.units);
    PatternOutcome outcome = searcher_.FindShortest(judging, target_);
    run_.work.AddJudgement(searcher_);
    if (!outcome.pattern.has_value()) {
      refuted_.insert(fingerprint);
      return kRefutedEnergy;
    }
    known_ = outcome.pattern->period;
    run_.best = {candidate_, *std::move(outcome.pattern)};
    Aim();
    return energy_.Of(candidate_, target_);
  }

  void Aim() {
    const auto step = static_cast<int64_t>(progress_ < kLastPart ? kAmbition * static_cast<double>(known_.count()) : 0);
    target_ = known_ - Picoseconds(std::max<int64_t>(1, step));
  }

  // Devices are alike: they count by their order in the chain.
  uint64_t Fingerprint(const ChainAllocation& allocation) {
    std::fill(new_name_.begin(), new_name_.end(), -1);
    int32_t names = 0;
    uint64_t hash = 0;
    for (const ChainStage& stage : allocation) {
      int32_t& name = new_name_[Index(stage.device)];
      if (name < 0) name = names++;
      const uint64_t word = (static_cast<uint64_t>(stage.first_layer) << 32U) | static_cast<uint64_t>(name);
      hash = RandomStream(hash ^ word).Next();
    }
    return hash;
  }

  std::size_t Below(std::size_t bound) { return static_cast<std::size_t>(random_.Below(bound)); }

  const ChainSums& sums_;
  const ChainDevices& devices_;
  const int32_t max_stages_per_device_;
  const std::size_t max_stages_;
  RandomStream random_;
  AllocationEnergy energy_;
  PatternSearcher searcher_;
  ChainAllocation current_;
  ChainAllocation candidate_;
  // Period that is looked for, and the shortest one known.
  Picoseconds target_{0};
  Picoseconds known_{0};
  // Share of the run that is over.
  double progress_ = 0;
  double temperature_ = 0;
  std::unordered_set<uint64_t> refuted_;
  std::vector<int32_t> new_name_;
  AnnealedAllocation run_;
};

}  // namespace

AllocationEnergy::AllocationEnergy(const Chain& chain, const ChainSums& sums, const ChainDevices& devices)
    : chain_(chain),
      sums_(sums),
      devices_(devices),
      needs_(Index(devices.count)),
      link_loads_(Index(devices.count) * Index(devices.count)) {}

double AllocationEnergy::Of(const ChainAllocation& allocation, Picoseconds period) {
  Clear();
  Delay delay;
  for (std::size_t stage = allocation.size(); stage-- > 0;) {
    const auto& [first, last, device] = allocation[stage];
    delay = delay.Behind(sums_.forward(first, last), sums_.backward(first, last), period);
    needs_[Index(device)].AddStage(sums_, first, last, chain_.has_backward ? delay.Batches() : 0);
    if (stage == 0 || allocation[stage - 1].device == device) continue;
    const ChainCut& cut = chain_.cuts[Index(first) - 1];
    AddCut(cut, allocation[stage - 1].device, device);
    delay = AcrossCut(delay, cut, devices_.full_duplex, period);
  }
  double energy = DeviceExcess(period);
  for (const std::size_t link : used_links_) {
    energy += kLinkWeight * Excess(link_loads_[link].count(), period.count());
  }
  return energy;
}

void AllocationEnergy::Clear() {
  std::fill(needs_.begin(), needs_.end(), LeastDeviceUse{});
  for (const std::size_t link : used_links_) link_loads_[link] = Picoseconds(0);
  used_links_.clear();
}

void AllocationEnergy::AddCut(const ChainCut& cut, int32_t from, int32_t to) {
  needs_[Index(from)].AddBuffer(cut.buffer_bytes);
  needs_[Index(to)].AddBuffer(cut.buffer_bytes);
  LinkLoad(from, to) += cut.send_forward;
  LinkLoad(to, from) += cut.send_backward;
}

Picoseconds& AllocationEnergy::LinkLoad(int32_t from, int32_t to) {
  if (!devices_.full_duplex && from > to) std::swap(from, to);
  const std::size_t link = Index(from) * Index(devices_.count) + Index(to);
  if (link_loads_[link].count() == 0) used_links_.push_back(link);
  return link_loads_[link];
}

double AllocationEnergy::DeviceExcess(Picoseconds period) const {
  double excess = 0;
  for (const LeastDeviceUse& need : needs_) {
    excess += Excess(need.load().count(), period.count());
    if (devices_.memory_bytes.has_value()) excess += Excess(need.bytes(), *devices_.memory_bytes);
  }
  return excess;
}

SolveLimits JudgeLimits(const SolveLimits& limits, const PatternSearcher& searcher, int64_t nodes, int64_t units) {
  SolveLimits judging = limits;
  judging.work = std::min(nodes, units / AnnealingWork::UnitsOfNode(searcher.num_steps()));
  return judging;
}

AnnealedAllocation AnnealAllocation(const Chain& chain, const ChainSums& sums, const ChainDevices& devices,
                                    int32_t max_stages_per_device, const ChainAllocation& start, Picoseconds known,
                                    RandomStream random, const SolveLimits& limits) {
  return Annealer(chain, sums, devices, max_stages_per_device, random).Run(start, known, limits);
}

}  // namespace planwright
