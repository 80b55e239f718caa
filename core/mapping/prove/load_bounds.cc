#include "core/mapping/prove/load_bounds.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

#include "core/base/union_find.h"

namespace planwright {
namespace {

// A node takes microseconds.
constexpr int64_t kNodesPerLook = 64;

// Bytes of a stage's links, the busiest first.
std::vector<double> SortedBytes(const ReplicaModel& model, int32_t stage) {
  std::vector<double> bytes;
  for (const StageLink& link : model.LinksOf(stage)) bytes.push_back(link.bytes());
  std::sort(bytes.begin(), bytes.end(), std::greater<>());
  return bytes;
}

double LeastLatency(const ReplicaModel& model, int32_t stage) {
  double latency = 0;
  for (const StageLink& link : model.LinksOf(stage)) latency += link.transfers() * model.least_latency_ms();
  return latency;
}

// The machine in parts that links up to some speed hold together, all of them as good as the best one.
struct Parts {
  int32_t capacity = 0;
  // [i]: the least ms per byte from any device to the i-th nearest one of its part.
  std::vector<double> inside;
  // The least ms per byte between devices of different parts, and between any.
  double outside = 0;
  double least = 0;
};

class QuotientSearch {
 public:
  QuotientSearch(const ReplicaModel& model, std::span<const double> surcharge_ms, const Parts& parts,
                 int64_t& nodes_left, Poller& poller)
      : model_(model), parts_(parts), nodes_left_(nodes_left), poller_(poller) {
    for (int32_t stage = 0; stage < model.num_stages(); ++stage) AddStage(stage, surcharge_ms);
    OrderStages();
  }

  // Returns the bound, `most_ms` at most; 0: cut.
  double Run(double most_ms) {
    best_ = most_ms;
    part_of_.assign(Index(model_.num_stages()), -1);
    size_.assign(Index(model_.num_stages()), 0);
    Extend(0, 0, 0);
    return nodes_left_ < 0 || poller_.ShouldStop() ? 0 : best_;
  }

 private:
  void AddStage(int32_t stage, std::span<const double> surcharge_ms);
  void OrderStages();
  double LeastLoad(int32_t stage) const;
  void Extend(int32_t depth, int32_t num_parts, double value);

  const ReplicaModel& model_;
  const Parts& parts_;
  int64_t& nodes_left_;
  Poller& poller_;
  // By stage: least compute time and surcharge of any device.
  std::vector<double> compute_ms_;
  std::vector<double> surcharge_ms_;
  std::vector<int32_t> order_;
  std::vector<int32_t> part_of_;
  std::vector<int32_t> size_;
  double best_ = std::numeric_limits<double>::infinity();
};

void QuotientSearch::AddStage(int32_t stage, std::span<const double> surcharge_ms) {
  double compute = std::numeric_limits<double>::infinity();
  double surcharge = surcharge_ms.empty() ? 0 : compute;
  for (int32_t device = 0; device < model_.num_devices(); ++device) {
    compute = std::min(compute, model_.instance().ComputeMs(stage, model_.device(device)));
    if (surcharge_ms.empty()) continue;
    surcharge = std::min(surcharge, surcharge_ms[Index(stage) * Index(model_.num_devices()) + Index(device)]);
  }
  compute_ms_.push_back(compute);
  surcharge_ms_.push_back(surcharge);
}

// The stage that exchanges most with those before it comes next.
void QuotientSearch::OrderStages() {
  std::vector<double> bytes(Index(model_.num_stages()));
  std::vector<bool> is_ordered(bytes.size(), false);
  for (const StageLink& link : model_.links()) bytes[Index(link.stage)] += link.bytes() * 1e-9;
  while (order_.size() < bytes.size()) {
    int32_t next = -1;
    for (int32_t stage = 0; stage < model_.num_stages(); ++stage) {
      if (!is_ordered[Index(stage)] && (next < 0 || bytes[Index(stage)] > bytes[Index(next)])) next = stage;
    }
    order_.push_back(next);
    is_ordered[Index(next)] = true;
    for (const StageLink& link : model_.LinksOf(next)) bytes[Index(link.other)] += link.bytes();
  }
}

// Links to stages that have no part yet are as near as any two devices are.
double QuotientSearch::LeastLoad(int32_t stage) const {
  double transfers = LeastLatency(model_, stage);
  std::vector<double> inside;
  for (const StageLink& link : model_.LinksOf(stage)) {
    const int32_t part = part_of_[Index(link.other)];
    if (part >= 0 && part == part_of_[Index(stage)]) {
      inside.push_back(link.bytes());
    } else {
      transfers += link.bytes() * (part >= 0 ? parts_.outside : parts_.least);
    }
  }
  std::sort(inside.begin(), inside.end(), std::greater<>());
  for (std::size_t i = 0; i < inside.size(); ++i) transfers += inside[i] * parts_.inside[i];
  return model_.WeightedLoad(compute_ms_[Index(stage)], transfers, surcharge_ms_[Index(stage)]);
}

void QuotientSearch::Extend(int32_t depth, int32_t num_parts, double value) {
  if (value >= best_ || --nodes_left_ < 0) return;
  if (nodes_left_ % kNodesPerLook == 0 ? poller_.ShouldStopNow() : poller_.ShouldStop()) return;
  if (depth == model_.num_stages()) {
    best_ = value;
    return;
  }
  const int32_t stage = order_[Index(depth)];
  for (int32_t part = 0; part <= num_parts; ++part) {
    if (size_[Index(part)] == parts_.capacity) continue;
    part_of_[Index(stage)] = part;
    ++size_[Index(part)];
    double largest = std::max(value, LeastLoad(stage));
    for (const StageLink& link : model_.LinksOf(stage)) {
      if (part_of_[Index(link.other)] >= 0) largest = std::max(largest, LeastLoad(link.other));
    }
    Extend(depth + 1, std::max(num_parts, part + 1), largest);
    --size_[Index(part)];
    part_of_[Index(stage)] = -1;
    if (part + 1 >= model_.num_stages()) break;
  }
}

// The parts of the machine, for each speed at which they grow while they are smaller than a replica.
class PartsByUnion {
 public:
  explicit PartsByUnion(const ReplicaModel& model) : model_(model) {}

  std::vector<Parts> All() const {
    const std::vector<double> speeds = JoiningSpeeds();
    std::vector<Parts> all;
    for (const double speed : speeds) {
      Parts parts = At(speed);
      if (parts.capacity >= model_.num_stages()) break;
      if (!all.empty() && all.back().capacity == parts.capacity) all.pop_back();
      all.push_back(std::move(parts));
    }
    return all;
  }

 private:
  struct Pair {
    double ms_per_byte;
    int32_t device;
    int32_t other;
  };

  // Speeds at which some parts are joined, the fastest first.
  std::vector<double> JoiningSpeeds() const {
    std::vector<Pair> pairs;
    for (int32_t device = 0; device < model_.num_devices(); ++device) {
      // A part smaller than a replica is held together by links to nearer devices than that.
      const auto near = model_.NearOf(device);
      const std::size_t count = std::min(near.size(), Index(model_.num_stages()));
      for (const NearDevice& entry : near.first(count)) pairs.push_back({entry.ms_per_byte, device, entry.device});
    }
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const Pair& a, const Pair& b) { return a.ms_per_byte < b.ms_per_byte; });
    UnionFind parts(model_.num_devices());
    std::vector<double> speeds;
    for (const Pair& pair : pairs) {
      if (parts.Find(pair.device) == parts.Find(pair.other)) continue;
      parts.Unite(pair.device, pair.other);
      if (speeds.empty() || speeds.back() != pair.ms_per_byte) speeds.push_back(pair.ms_per_byte);
    }
    return speeds;
  }

  Parts At(double speed) const {
    const std::vector<int32_t> part_of = model_.PartsWithin(speed);
    std::vector<int32_t> sizes(Index(model_.num_devices()), 0);
    for (const int32_t part : part_of) ++sizes[Index(part)];
    Parts parts;
    parts.capacity = *std::max_element(sizes.begin(), sizes.end());
    parts.inside.assign(Index(parts.capacity) - 1, std::numeric_limits<double>::infinity());
    parts.outside = std::numeric_limits<double>::infinity();
    for (int32_t device = 0; device < model_.num_devices(); ++device) Widen(parts, part_of, device);
    parts.least = parts.inside.empty() ? parts.outside : std::min(parts.inside.front(), parts.outside);
    return parts;
  }

  void Widen(Parts& parts, const std::vector<int32_t>& part_of, int32_t device) const {
    std::size_t inside = 0;
    for (const NearDevice& near : model_.NearOf(device)) {
      if (part_of[Index(near.device)] != part_of[Index(device)]) {
        parts.outside = std::min(parts.outside, near.ms_per_byte);
        if (inside + 1 >= Index(parts.capacity)) break;
        continue;
      }
      parts.inside[inside] = std::min(parts.inside[inside], near.ms_per_byte);
      ++inside;
    }
    // Devices of the part that are not listed.
    for (; !model_.ListsAll() && inside < parts.inside.size(); ++inside) {
      parts.inside[inside] = std::min(parts.inside[inside], model_.NearOf(device).back().ms_per_byte);
    }
  }

  const ReplicaModel& model_;
};

}  // namespace

std::vector<double> StarLoads(const ReplicaModel& model, std::span<const double> surcharge_ms) {
  std::vector<double> loads;
  loads.reserve(Index(model.num_stages()) * Index(model.num_devices()));
  for (int32_t stage = 0; stage < model.num_stages(); ++stage) {
    const std::vector<double> bytes = SortedBytes(model, stage);
    const double latency = LeastLatency(model, stage);
    for (int32_t device = 0; device < model.num_devices(); ++device) {
      const std::span<const NearDevice> near = model.NearOf(device);
      double transfers = latency;
      for (std::size_t i = 0; i < bytes.size() && !near.empty(); ++i) {
        transfers += bytes[i] * near[std::min(i, near.size() - 1)].ms_per_byte;
      }
      const double compute = model.instance().ComputeMs(stage, model.device(device));
      loads.push_back(model.WeightedLoad(compute, transfers, surcharge_ms.empty() ? 0 : surcharge_ms[loads.size()]));
    }
  }
  return loads;
}

double StarBound(const ReplicaModel& model, const std::vector<double>& star_loads) {
  double bound = 0;
  const auto devices = static_cast<std::ptrdiff_t>(model.num_devices());
  for (auto row = star_loads.begin(); row != star_loads.end(); row += devices) {
    bound = std::max(bound, *std::min_element(row, row + devices));
  }
  return bound;
}

double QuotientBound(const ReplicaModel& model, std::span<const double> surcharge_ms, double most_ms,
                     int64_t& nodes_left, Poller& poller) {
  double bound = 0;
  const std::vector<Parts> all = PartsByUnion(model).All();
  for (auto parts = all.rbegin(); parts != all.rend() && nodes_left > 0; ++parts) {
    bound = std::max(bound, QuotientSearch(model, surcharge_ms, *parts, nodes_left, poller).Run(most_ms));
  }
  return bound;
}

}  // namespace planwright
