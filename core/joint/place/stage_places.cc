#include "core/joint/place/stage_places.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/joint/cost/pair_links.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/place/grid_layouts.h"
#include "core/joint/place/known_prices.h"

namespace planwright {
namespace {

constexpr int64_t kMostLayouts = 5'040;
constexpr int64_t kMostDraftLayouts = 720;
constexpr int64_t kMostMoves = 30'000;
// Devices times moves.
constexpr int64_t kMostWork = 3'000'000;
constexpr std::size_t kMostSeeds = 6;
constexpr std::size_t kDraftSeeds = 2;
// Layouts of a grid times devices.
constexpr std::size_t kMostGridWork = std::size_t{1} << 20;
constexpr std::size_t kDraftGridWork = std::size_t{1} << 13;
// Pairs of devices times seeds.
constexpr std::size_t kMostSeedWork = std::size_t{1} << 22;
// First the links lead, then the step.
constexpr std::array<double, 2> kGuideShares = {0.3, 0.05};
constexpr double kHot = 0.02;
constexpr double kCold = 0.0002;
// Exchanges of a tensor group against those of others.
constexpr double kTensorWeight = 4;
// A microsecond counts as a hundredth of the fastest link.
constexpr double kLatencyWeight = 1e-8;

// 128 bits that tell apart what was added, in its order, as surely as all of it would: of two numbers that are mixed
// (SplitMix64's last steps), so the same on every machine.
class LinkPrint {
 public:
  void Add(const TrainingLink& link) {
    Add(std::bit_cast<uint64_t>(link.bytes_per_second));
    Add(static_cast<uint64_t>(link.latency_ps));
  }

  bool operator==(const LinkPrint&) const = default;
  template <typename Hash>
  friend Hash AbslHashValue(Hash hash, const LinkPrint& print) {
    return Hash::combine(std::move(hash), print.low_, print.high_);
  }

 private:
  static uint64_t Mixed(uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
  }

  void Add(uint64_t value) {
    low_ = Mixed(low_ ^ value);
    high_ = Mixed(high_ + value);
  }

  uint64_t low_ = 0x9e3779b97f4a7c15;
  uint64_t high_ = 0xd1b54a32d192ed03;
};

class StagePlacer {
 public:
  StagePlacer(const PlaceQuestion& question, const JointPlan& plan, const std::vector<DeviceClassId>& classes,
              PlaceEffort effort, Poller& poller)
      : question_(question),
        prices_(question.pricer),
        pairs_(*question.cluster.pairs),
        is_draft_(effort == PlaceEffort::kDraft),
        poller_(poller),
        placed_(question.cluster),
        plan_(plan) {
    SetSlots(classes);
  }

  PlacedPlan Run() {
    best_devices_ = placed_.devices;
    best_ = Look();
    if (NumLayouts() <= (is_draft_ ? kMostDraftLayouts : kMostLayouts)) {
      TryAll();
    } else {
      LayOutGrid();
      const std::size_t pairs = placed_.devices.size() * placed_.devices.size();
      const std::size_t seeds = std::clamp<std::size_t>(kMostSeedWork / pairs, 1, is_draft_ ? kDraftSeeds : kMostSeeds);
      const std::vector<DeviceId> centres = Centres();
      for (std::size_t seed = 0; seed < seeds && !poller_.ShouldStopNow(); ++seed) {
        Grow(centres[seed * centres.size() / seeds]);
      }
      if (!is_draft_) {
        for (const double share : kGuideShares) Anneal(share);
      }
    }
    placed_.devices = best_devices_;
    PlacedPlan placed{placed_, plan_};
    const DeviceRow row(placed.cluster);
    CostJointPlan(question_.pricer, row, question_.reserved_bytes, placed.plan);
    return placed;
  }

 private:
  struct Value {
    int64_t step_ps = 0;
    // The sum over all links that are used, each in relation to the fastest one.
    double slowness = 0;

    bool operator<(const Value& other) const {
      return std::pair(step_ps, slowness) < std::pair(other.step_ps, other.slowness);
    }
  };
  // Slots of a class, and how many of them stages take.
  struct Part {
    std::size_t begin = 0;
    std::size_t used = 0;
    std::size_t end = 0;
  };

  // Places the stages of each class one behind the other.
  void SetSlots(const std::vector<DeviceClassId>& classes) {
    std::size_t begin = 0;
    for (const TrainingClass& part : question_.cluster.classes) {
      std::size_t next = begin;
      for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
        if (classes[s] != part.device_class) continue;
        plan_.stages[s].first_slot = static_cast<int32_t>(next);
        next += static_cast<std::size_t>(plan_.stages[s].degrees.devices());
      }
      const std::size_t end = begin + static_cast<std::size_t>(part.devices());
      parts_.push_back({begin, next, end});
      begin = end;
    }
  }

  std::span<const DeviceId> DevicesOf(std::size_t s) const {
    const JointStage& stage = plan_.stages[s];
    return std::span(placed_.devices)
        .subspan(static_cast<std::size_t>(stage.first_slot), static_cast<std::size_t>(stage.degrees.devices()));
  }

  double SlownessOf(DeviceId a, DeviceId b) const {
    if (a == b) return 0;
    const TrainingLink link = pairs_.Between(a, b);
    return question_.cluster.inside.bytes_per_second / link.bytes_per_second +
           kLatencyWeight * static_cast<double>(link.latency_ps);
  }

  // Adds up the rings inside a stage and what crosses to the next one.
  double SlownessOf(std::size_t s) const {
    const std::span<const DeviceId> own = DevicesOf(s);
    const std::span<const DeviceId> next = DevicesOf((s + 1) % plan_.stages.size());
    const auto tensor = static_cast<std::size_t>(plan_.stages[s].degrees.tensor);
    double sum = 0;
    for (std::size_t rank = 0; rank < own.size(); ++rank) {
      const std::size_t group = rank / tensor * tensor;
      sum += kTensorWeight * SlownessOf(own[rank], own[group + (rank + 1 - group) % tensor]);
      sum += SlownessOf(own[rank], own[(rank + tensor) % own.size()]);
      if (s + 1 < plan_.stages.size()) sum += SlownessOf(own[rank], next[rank * next.size() / own.size()]);
    }
    return sum;
  }

  // Plans whose groups and boundaries have the same links take the same time.
  Value Look() {
    Value value;
    LinkPrint links;
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const StageLinks within = LinksWithin(pairs_, DevicesOf(s), plan_.stages[s].degrees);
      links.Add(within.tensor);
      links.Add(within.copies);
      links.Add(LinkAcross(pairs_, DevicesOf(s), DevicesOf((s + 1) % plan_.stages.size())));
      value.slowness += SlownessOf(s);
    }
    const auto [known, is_new] = steps_.try_emplace(links, 0);
    if (is_new) {
      const DeviceRow row(placed_);
      CostJointPlan(prices_, row, question_.reserved_bytes, plan_);
      known->second = plan_.step.count();
    }
    value.step_ps = known->second;
    return value;
  }

  void Keep(const Value& value) {
    if (!(value < best_)) return;
    best_ = value;
    best_devices_ = placed_.devices;
  }

  int64_t NumLayouts() const {
    int64_t layouts = 1;
    for (const Part& part : parts_) {
      for (auto left = static_cast<int64_t>(part.end - part.begin); left > 1 && layouts <= kMostLayouts; --left) {
        layouts *= left;
      }
    }
    return layouts;
  }

  // Like an odometer, one class a digit; the devices of each begin in their order.
  void TryAll() {
    const auto at = [&](std::size_t slot) { return placed_.devices.begin() + static_cast<std::ptrdiff_t>(slot); };
    for (const Part& part : parts_) std::sort(at(part.begin), at(part.end));
    for (;;) {
      Keep(Look());
      if (poller_.ShouldStop(static_cast<int64_t>(placed_.devices.size()) * 8)) return;
      std::size_t digit = 0;
      while (digit < parts_.size() && !std::next_permutation(at(parts_[digit].begin), at(parts_[digit].end))) ++digit;
      if (digit == parts_.size()) return;
    }
  }

  // Regular layouts, where one class has a whole grid and stages are alike.
  void LayOutGrid() {
    const GridInterconnect* grid = pairs_.Grid();
    if (grid == nullptr) return;
    const std::size_t devices = placed_.devices.size();
    const std::vector<int32_t>& sides = grid->dimensions;
    const auto size = std::accumulate(sides.begin(), sides.end(), std::size_t{1}, std::multiplies<>());
    const Degrees& degrees = plan_.stages.front().degrees;
    const bool are_alike = std::all_of(plan_.stages.begin(), plan_.stages.end(),
                                       [&](const JointStage& stage) { return stage.degrees == degrees; });
    if (size != devices || parts_.size() != 1 || !are_alike) return;
    const RegularPipeline pipeline{.tensor = degrees.tensor,
                                   .copies = degrees.devices() / degrees.tensor,
                                   .stages = static_cast<int64_t>(plan_.stages.size())};
    const std::size_t most = is_draft_ ? kDraftGridWork : kMostGridWork;
    for (const std::vector<std::size_t>& layout : GridLayouts(*grid, pipeline, most / devices + 1)) {
      if (poller_.ShouldStop(static_cast<int64_t>(devices) * 64)) return;
      std::transform(layout.begin(), layout.end(), placed_.devices.begin(),
                     [](std::size_t device) { return DeviceId(device); });
      Keep(Look());
    }
  }

  // What is known to lie beside the rank that gets `device`.
  double SlownessBeside(std::size_t s, std::size_t rank, DeviceId device) const {
    const std::span<const DeviceId> own = DevicesOf(s);
    const auto tensor = static_cast<std::size_t>(plan_.stages[s].degrees.tensor);
    const std::size_t group = rank / tensor * tensor;
    double sum = 0;
    // Rings must close, so all of the group count.
    for (std::size_t other = group; other < rank; ++other) sum += SlownessOf(own[other], device);
    if (rank > group) sum += kTensorWeight * SlownessOf(own[rank - 1], device);
    if (rank >= tensor) sum += SlownessOf(own[rank - tensor], device);
    if (s > 0) {
      const std::span<const DeviceId> before = DevicesOf(s - 1);
      sum += SlownessOf(before[rank * before.size() / own.size()], device);
    }
    return sum;
  }

  std::vector<DeviceId> DevicesOf(const Part& part) const {
    return {question_.cluster.devices.begin() + static_cast<std::ptrdiff_t>(part.begin),
            question_.cluster.devices.begin() + static_cast<std::ptrdiff_t>(part.end)};
  }

  // Returns the devices of the first stage's class, those first that are nearest to as many devices as the plan takes.
  std::vector<DeviceId> Centres() {
    std::size_t used = 0;
    for (const JointStage& stage : plan_.stages) used += static_cast<std::size_t>(stage.degrees.devices());
    const std::vector<DeviceId>& all = question_.cluster.devices;
    std::vector<std::pair<double, DeviceId>> found;
    for (const DeviceId device : DevicesOf(parts_[PartOf(plan_.stages.front())])) {
      if (poller_.ShouldStop(static_cast<int64_t>(all.size()) * 32)) return {};
      std::vector<double> slowness;
      slowness.reserve(all.size());
      for (const DeviceId other : all) slowness.push_back(SlownessOf(device, other));
      const auto end = slowness.begin() + static_cast<std::ptrdiff_t>(used);
      std::nth_element(slowness.begin(), end - 1, slowness.end());
      found.emplace_back(std::accumulate(slowness.begin(), end, 0.0), device);
    }
    std::sort(found.begin(), found.end());
    std::vector<DeviceId> centres;
    centres.reserve(found.size());
    for (const auto& [slowness, device] : found) centres.push_back(device);
    return centres;
  }

  std::size_t PartOf(const JointStage& stage) const {
    std::size_t number = 0;
    while (static_cast<std::size_t>(stage.first_slot) >= parts_[number].end) ++number;
    return number;
  }

  // Rank by rank the device that is nearest to those before it; the first rank of the first stage gets `first_device`.
  void Grow(DeviceId first_device) {
    std::vector<std::vector<DeviceId>> free;
    free.reserve(parts_.size());
    for (const Part& part : parts_) free.push_back(DevicesOf(part));
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const auto first = static_cast<std::size_t>(plan_.stages[s].first_slot);
      std::vector<DeviceId>& left = free[PartOf(plan_.stages[s])];
      for (std::size_t rank = 0; rank < DevicesOf(s).size(); ++rank) {
        if (poller_.ShouldStop(static_cast<int64_t>(left.size()) * 16)) return;
        std::size_t nearest = 0;
        if (s + rank == 0)
          nearest = static_cast<std::size_t>(std::find(left.begin(), left.end(), first_device) - left.begin());
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t device = 0; device < left.size() && s + rank > 0; ++device) {
          const double slowness = SlownessBeside(s, rank, left[device]);
          if (slowness >= least) continue;
          least = slowness;
          nearest = device;
        }
        placed_.devices[first + rank] = left[nearest];
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(nearest));
      }
    }
    for (std::size_t number = 0; number < parts_.size(); ++number) {
      std::copy(free[number].begin(), free[number].end(),
                placed_.devices.begin() + static_cast<std::ptrdiff_t>(parts_[number].used));
    }
    Keep(Look());
  }

  std::size_t Draw(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  void Exchange(std::size_t a, std::size_t b, std::vector<std::pair<std::size_t, std::size_t>>& moved) {
    std::swap(placed_.devices[a], placed_.devices[b]);
    moved.emplace_back(a, b);
  }

  // Two devices of a class, a run of it the other way round, or two runs of one length, change places.
  std::vector<std::pair<std::size_t, std::size_t>> Move() {
    std::vector<std::pair<std::size_t, std::size_t>> moved;
    const Part& part = parts_[Draw(parts_.size())];
    if (part.used == part.begin || part.end - part.begin < 2) return moved;
    const std::size_t kind = Draw(4);
    const std::size_t s = Draw(plan_.stages.size());
    const Degrees& degrees = plan_.stages[s].degrees;
    const auto length = static_cast<std::size_t>(Draw(2) == 0 ? int64_t{degrees.tensor} : degrees.devices());
    const std::size_t a = part.begin + Draw(part.used - part.begin);
    const std::size_t b = part.begin + Draw(part.end - part.begin);
    if (kind < 2) {
      if (a != b) Exchange(a, b, moved);
    } else if (kind == 2) {
      const std::size_t most = std::size_t{4} << (2 * Draw(4));
      const std::size_t first = std::min(a, b);
      for (std::size_t low = first, high = std::min(std::max(a, b), first + most); low < high; ++low, --high) {
        Exchange(low, high, moved);
      }
    } else {
      const std::size_t low = part.begin + (std::min(a, b) - part.begin) / length * length;
      const std::size_t high = part.begin + (std::max(a, b) - part.begin) / length * length;
      for (std::size_t i = 0; low < high && high + length <= part.end && i < length; ++i) {
        Exchange(low + i, high + i, moved);
      }
    }
    return moved;
  }

  // `guide_share`: of the slowness of all links beside the step.
  void Anneal(double guide_share) {
    const auto devices = static_cast<int64_t>(placed_.devices.size());
    const int64_t moves = std::min(kMostMoves, kMostWork / devices);
    placed_.devices = best_devices_;
    const Value scale = best_;
    const auto energy = [&](const Value& value) {
      return static_cast<double>(value.step_ps) / static_cast<double>(std::max<int64_t>(scale.step_ps, 1)) +
             guide_share * value.slowness / std::max(scale.slowness, 1.0);
    };
    double own = energy(best_);
    for (int64_t move = 0; move < moves && !poller_.ShouldStop(64 * devices); ++move) {
      const double heat = kHot * std::pow(kCold / kHot, static_cast<double>(move) / static_cast<double>(moves));
      const auto moved = Move();
      if (moved.empty()) continue;
      const Value value = Look();
      const double allowed = -heat * std::log((static_cast<double>(random_() >> 11) + 1) * 0x1p-53);
      if (energy(value) <= own + allowed) {
        own = energy(value);
        Keep(value);
        continue;
      }
      for (std::size_t i = moved.size(); i-- > 0;) {
        std::swap(placed_.devices[moved[i].first], placed_.devices[moved[i].second]);
      }
    }
  }

  const PlaceQuestion& question_;
  const KnownPrices prices_;
  const PairLinks& pairs_;
  const bool is_draft_;
  Poller& poller_;
  TrainingCluster placed_;
  JointPlan plan_;
  std::vector<Part> parts_;
  // By the links of all stages, of up to 2 x kMostMoves looks.
  absl::flat_hash_map<LinkPrint, int64_t> steps_;
  std::mt19937_64 random_{1};
  std::vector<DeviceId> best_devices_;
  Value best_;
};

}  // namespace

PlacedPlan PlaceStages(const PlaceQuestion& question, const JointPlan& plan, const std::vector<DeviceClassId>& classes,
                       PlaceEffort effort, Poller& poller) {
  return StagePlacer(question, plan, classes, effort, poller).Run();
}

}  // namespace planwright
