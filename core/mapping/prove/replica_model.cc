#include "core/mapping/prove/replica_model.h"

#include <algorithm>
#include <limits>

#include "core/base/union_find.h"

namespace planwright {

ReplicaModel::ReplicaModel(const MappingInstance& instance, const LinkTimes& links, const SolveLimits& limits)
    : instance_(instance), link_times_(links), numbers_(instance.num_devices(), -1) {
  for (std::size_t device = 0; device < instance.num_devices(); ++device) {
    if (!instance.TakesPart(DeviceId(device))) continue;
    numbers_[device] = static_cast<int32_t>(devices_.size());
    devices_.emplace_back(device);
  }
  least_latency_ms_ = std::numeric_limits<double>::infinity();
  for (const LinkTime& time : links.times()) least_latency_ms_ = std::min(least_latency_ms_, time.latency_ms);
  if (links.times().empty()) least_latency_ms_ = 0;
  AddLinks();
  ListNearDevices(limits);
}

ReplicaModel ReplicaModel::WithoutTraffic() const {
  ReplicaModel model = *this;
  model.links_.clear();
  std::fill(model.first_link_.begin(), model.first_link_.end(), 0);
  return model;
}

void ReplicaModel::AddLinks() {
  std::vector<std::vector<StageLink>> by_stage(Index(num_stages()));
  for (const StageTraffic& traffic : instance_.traffic) {
    by_stage[Index(traffic.from)].push_back({.stage = traffic.from,
                                             .other = traffic.to,
                                             .bytes_out = traffic.forward_bytes,
                                             .bytes_in = traffic.backward_bytes,
                                             .transfers_out = traffic.forward_transfers,
                                             .transfers_in = traffic.backward_transfers});
    by_stage[Index(traffic.to)].push_back({.stage = traffic.to,
                                           .other = traffic.from,
                                           .bytes_out = traffic.backward_bytes,
                                           .bytes_in = traffic.forward_bytes,
                                           .transfers_out = traffic.backward_transfers,
                                           .transfers_in = traffic.forward_transfers});
  }
  for (const std::vector<StageLink>& links : by_stage) {
    first_link_.push_back(static_cast<int32_t>(links_.size()));
    links_.insert(links_.end(), links.begin(), links.end());
  }
  first_link_.push_back(static_cast<int32_t>(links_.size()));
  for (StageLink& link : links_) {
    link.reverse = first_link(link.other);
    while (links_[Index(link.reverse)].other != link.stage) ++link.reverse;
  }
}

void ReplicaModel::ListNearDevices(const SolveLimits& limits) {
  const std::size_t count = devices_.size();
  listed_ = std::min(kMostListed, count - 1);
  near_.reserve(count * listed_);
  std::vector<NearDevice> row;
  for (int32_t device = 0; device < num_devices(); ++device) {
    if (CheckInterruption(limits).has_value()) {
      near_.clear();
      listed_ = 0;
      return;
    }
    row.clear();
    for (int32_t other = 0; other < num_devices(); ++other) {
      if (other == device) continue;
      const double faster = std::min(Between(device, other).ms_per_byte, Between(other, device).ms_per_byte);
      row.push_back({.device = other, .ms_per_byte = faster});
    }
    const auto is_nearer = [](const NearDevice& a, const NearDevice& b) {
      return a.ms_per_byte != b.ms_per_byte ? a.ms_per_byte < b.ms_per_byte : a.device < b.device;
    };
    const auto end = row.begin() + static_cast<std::ptrdiff_t>(listed_);
    if (end != row.end()) std::nth_element(row.begin(), end, row.end(), is_nearer);
    std::sort(row.begin(), end, is_nearer);
    near_.insert(near_.end(), row.begin(), end);
  }
}

std::vector<int32_t> ReplicaModel::PartsWithin(double ms_per_byte) const {
  UnionFind parts(num_devices());
  for (int32_t device = 0; device < num_devices(); ++device) {
    for (const NearDevice& near : NearOf(device)) {
      if (near.ms_per_byte > ms_per_byte) break;
      parts.Unite(device, near.device);
    }
  }
  return parts.Labels();
}

double ReplicaModel::TimeOf(const StageLink& link, int32_t a, int32_t b) const {
  const LinkTime& out = Between(a, b);
  const LinkTime& in = link_times_.is_symmetric() ? out : Between(b, a);
  return out.Of(link.bytes_out, link.transfers_out) + in.Of(link.bytes_in, link.transfers_in);
}

double ReplicaModel::Room(int32_t stage, int32_t device, double target_ms, double surcharge_ms) const {
  const double most = (target_ms - surcharge_ms) / instance_.load_weight;
  const double compute = instance_.ComputeMs(stage, devices_[Index(device)]);
  switch (instance_.overlap) {
    case Overlap::kSerial:
      return most - compute;
    case Overlap::kOverlapped:
      return compute <= most ? most : -1;
    case Overlap::kFullDuplex:
      return compute <= most ? 2 * most : -1;
  }
  return -1;
}

double ReplicaModel::WeightedLoad(double compute_ms, double transfers_ms, double surcharge_ms) const {
  double load = 0;
  switch (instance_.overlap) {
    case Overlap::kSerial:
      load = compute_ms + transfers_ms;
      break;
    case Overlap::kOverlapped:
      load = std::max(compute_ms, transfers_ms);
      break;
    case Overlap::kFullDuplex:
      load = std::max(compute_ms, transfers_ms / 2);
      break;
  }
  return instance_.load_weight * load + surcharge_ms;
}

}  // namespace planwright
