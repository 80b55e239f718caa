#include "core/mapping/prove/ring_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/index.h"
#include "core/base/union_find.h"
#include "core/mapping/prove/replica_model.h"

namespace planwright {
namespace {

constexpr double kLeastShare = 1e-3;
// Longer rings than that are not searched for, and none with more steps for a device.
constexpr int32_t kLongestCycle = 8;
constexpr int64_t kStepsOfCycle = 4'000;

// Links that a ring has at each of its devices.
std::size_t LinksAtDevice(const ReplicaModel& model) { return model.num_replicas() > 2 ? 2 : 1; }

double WeightedRing(const ReplicaModel& model, int32_t stage, double ms_per_byte) {
  const MappingInstance& instance = model.instance();
  return instance.allreduce_weight * (instance.allreduce_bytes[Index(stage)] * ms_per_byte +
                                      instance.AllReduceHops(stage) * model.least_latency_ms());
}

}  // namespace

std::vector<double> RingSurcharges(const ReplicaModel& model) {
  std::vector<double> nearest;
  nearest.reserve(static_cast<std::size_t>(model.num_devices()));
  for (int32_t device = 0; device < model.num_devices(); ++device) {
    nearest.push_back(model.NearOf(device)[LinksAtDevice(model) - 1].ms_per_byte);
  }
  std::vector<double> surcharges;
  std::vector<double> possible;
  for (int32_t stage = 0; stage < model.num_stages(); ++stage) {
    possible.clear();
    for (int32_t device = 0; device < model.num_devices(); ++device) {
      if (std::isfinite(model.instance().ComputeMs(stage, model.device(device)))) {
        possible.push_back(nearest[Index(device)]);
      }
    }
    // As many devices as there are replicas are in the ring, all of them at least as fast as it.
    const auto last = possible.begin() + model.num_replicas() - 1;
    std::nth_element(possible.begin(), last, possible.end());
    for (const double own : nearest) surcharges.push_back(WeightedRing(model, stage, std::max(own, *last)));
  }
  return surcharges;
}

RingBounds::RingBounds(const ReplicaModel& model, bool with_compute)
    : model_(model),
      places_(model.WithoutTraffic()),
      with_compute_(with_compute),
      domains_(places_),
      matching_(places_),
      devices_(FirstNumbers(Index(model.num_devices()))),
      reach_(Index(model.num_stages())),
      is_on_path_(Index(model.num_devices()), 0) {}

double RingBounds::LargestRefuted(double most_ms, Poller& poller) {
  if (Refutes(most_ms * kJustBelowValue, poller)) return most_ms;
  double refuted = 0;
  double open = most_ms;
  double target = most_ms * kLeastShare;
  while (open > refuted * kTargetsMeet && target < open && !poller.ShouldStopNow()) {
    (Refutes(target, poller) ? refuted : open) = target;
    if (refuted == 0) break;
    target = std::sqrt(refuted * open);
  }
  return refuted;
}

bool RingBounds::Refutes(double target_ms, Poller& poller) {
  SetReach(target_ms);
  if (!HasRoomForAll()) return true;
  if (!domains_.Reset(devices_, model_.num_replicas(), std::numeric_limits<double>::infinity(), {}, poller))
    return true;
  for (int32_t stage = 0; stage < model_.num_stages(); ++stage) {
    for (const int32_t device : devices_) {
      const double compute = model_.instance().ComputeMs(stage, model_.device(device));
      const bool fits =
          !with_compute_ || WeightedRing(model_, stage, 0) + model_.instance().load_weight * compute <= target_ms;
      if (!fits || reach_[Index(stage)] < 0) Drop(stage, device);
    }
  }
  return !Filter(poller);
}

// A stage's compute time is that of its slowest replica, so at least the least of any device.
void RingBounds::SetReach(double target_ms) {
  const MappingInstance& instance = model_.instance();
  for (int32_t stage = 0; stage < model_.num_stages(); ++stage) {
    double compute = std::numeric_limits<double>::infinity();
    for (const int32_t device : devices_) {
      compute = std::min(compute, instance.ComputeMs(stage, model_.device(device)));
    }
    double left = target_ms - WeightedRing(model_, stage, 0);
    if (with_compute_) left -= instance.load_weight * compute;
    const double weight = instance.allreduce_weight * instance.allreduce_bytes[Index(stage)];
    double reach = -1;
    if (left >= 0) reach = weight > 0 ? left / weight : std::numeric_limits<double>::infinity();
    reach_[Index(stage)] = reach;
  }
}

// Rings of stages whose links must be at least as fast as some speed are inside the parts that it holds together.
bool RingBounds::HasRoomForAll() const {
  std::vector<double> speeds = reach_;
  std::sort(speeds.begin(), speeds.end());
  for (std::size_t rings = 1; rings <= speeds.size(); ++rings) {
    const double speed = speeds[rings - 1];
    const auto reaches_beyond_list = [&](int32_t device) {
      const auto near = model_.NearOf(device);
      return near.empty() || near.back().ms_per_byte <= speed;
    };
    if (!model_.ListsAll() && std::any_of(devices_.begin(), devices_.end(), reaches_beyond_list)) return true;
    std::vector<int32_t> sizes(devices_.size(), 0);
    for (const int32_t part : model_.PartsWithin(speed)) ++sizes[Index(part)];
    std::size_t room = 0;
    for (const int32_t size : sizes) room += Index(size / model_.num_replicas());
    if (room < rings) return false;
  }
  return true;
}

bool RingBounds::Filter(Poller& poller) {
  for (std::size_t before = domains_.Mark() + 1; before != domains_.Mark();) {
    before = domains_.Mark();
    for (int32_t stage = 0; stage < model_.num_stages(); ++stage) {
      if (poller.ShouldStopNow()) return true;
      if (!FilterStage(stage, poller)) return false;
    }
    if (!matching_.Prune(domains_) || !domains_.Propagate(poller)) return false;
  }
  return true;
}

bool RingBounds::FilterStage(int32_t stage, Poller& poller) {
  DropLonely(stage);
  DropSmallParts(stage);
  if (model_.num_replicas() > 2 && model_.num_replicas() <= kLongestCycle) DropWithoutCycle(stage, poller);
  return domains_.Propagate(poller);
}

// Calls visit(other) for the devices that the stage may take and reaches from `device`, until it says false.
template <typename Visit>
void RingBounds::ForNear(int32_t stage, int32_t device, const Visit& visit) const {
  for (const NearDevice& near : model_.NearOf(device)) {
    if (near.ms_per_byte > reach_[Index(stage)]) return;
    if (domains_.Has(stage, near.device) && !visit(near.device)) return;
  }
}

bool RingBounds::ReachesBeyondList(int32_t stage, int32_t device) const {
  return !model_.ListsAll() && model_.NearOf(device).back().ms_per_byte <= reach_[Index(stage)];
}

void RingBounds::Drop(int32_t stage, int32_t device) {
  domains_.Keep(device, domains_.StagesOf(device) & ~BitOfStage(stage));
}

void RingBounds::DropLonely(int32_t stage) {
  std::vector<int32_t> queue = devices_;
  while (!queue.empty()) {
    const int32_t device = queue.back();
    queue.pop_back();
    if (!domains_.Has(stage, device) || ReachesBeyondList(stage, device)) continue;
    std::size_t count = 0;
    ForNear(stage, device, [&](int32_t) { return ++count < LinksAtDevice(model_); });
    if (count >= LinksAtDevice(model_)) continue;
    Drop(stage, device);
    ForNear(stage, device, [&](int32_t other) {
      queue.push_back(other);
      return true;
    });
  }
}

void RingBounds::DropSmallParts(int32_t stage) {
  UnionFind parts(model_.num_devices());
  for (const int32_t device : devices_) {
    if (!domains_.Has(stage, device)) continue;
    if (ReachesBeyondList(stage, device)) return;
    ForNear(stage, device, [&](int32_t other) {
      parts.Unite(device, other);
      return true;
    });
  }
  const std::vector<int32_t> labels = parts.Labels();
  std::vector<int32_t> sizes(devices_.size(), 0);
  for (const int32_t device : devices_) {
    if (domains_.Has(stage, device)) ++sizes[Index(labels[Index(device)])];
  }
  for (const int32_t device : devices_) {
    if (sizes[Index(labels[Index(device)])] < model_.num_replicas()) Drop(stage, device);
  }
}

void RingBounds::DropWithoutCycle(int32_t stage, Poller& poller) {
  for (const int32_t device : devices_) {
    if (poller.ShouldStopNow()) return;
    if (!domains_.Has(stage, device) || ReachesBeyondList(stage, device)) continue;
    int64_t steps = kStepsOfCycle;
    is_on_path_[Index(device)] = 1;
    const bool is_on_cycle = IsOnCycle(stage, device, device, 1, steps);
    is_on_path_[Index(device)] = 0;
    cycle_work_ += kStepsOfCycle - steps;
    if (!is_on_cycle) Drop(stage, device);
  }
}

// Whether a path of `length` devices from `start` to `device` can be closed to a ring; yes where it takes too long.
bool RingBounds::IsOnCycle(int32_t stage, int32_t start, int32_t device, int32_t length, int64_t& steps) {
  bool is_found = false;
  if (ReachesBeyondList(stage, device)) return true;
  ForNear(stage, device, [&](int32_t other) {
    if (--steps < 0) is_found = true;
    if (length == model_.num_replicas()) {
      is_found = is_found || other == start;
    } else if (is_on_path_[Index(other)] == 0 && !is_found) {
      is_on_path_[Index(other)] = 1;
      is_found = IsOnCycle(stage, start, other, length + 1, steps);
      is_on_path_[Index(other)] = 0;
    }
    return !is_found;
  });
  return is_found;
}

}  // namespace planwright
