#include "core/partition/parmesan/team_mapping.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/index.h"
#include "core/base/random.h"
#include "core/cost/terms/allreduce.h"
#include "core/mapping/problem/evaluation.h"
#include "core/partition/parmesan/stage_mapping.h"

namespace planwright {
namespace {

constexpr int64_t kMaxTrials = 20'000;
// Temperatures of the first and the last trial, as shares of the value of the start.
constexpr double kHot = 0.1;
constexpr double kCold = 0.0005;
constexpr double kShareOfMean = 0.1;
// Trials between two looks at the clock.
constexpr int64_t kTrialsPerLook = 64;

}  // namespace

TeamMapping::TeamMapping(const SearchRequest& request, const StagePartition& partition, std::vector<int32_t> replicas)
    : request_(request),
      partition_(partition),
      replicas_(std::move(replicas)),
      // Two replicas, so that each stage stays on its class.
      pairs_(MappingInstanceOf(request, partition, /*replicas=*/2)),
      links_(pairs_.network, pairs_.num_devices()) {
  for (std::size_t stage = 0; stage < replicas_.size(); ++stage) {
    first_of_stage_.push_back(stage_of_replica_.size());
    stage_of_replica_.insert(stage_of_replica_.end(), Index(replicas_[stage]), stage);
    parameter_bytes_.push_back(ParameterBytes(request.graph, partition.stages[stage]));
  }
}

std::optional<Placement> TeamMapping::Find(const SolveLimits& limits) {
  std::optional<Devices> devices = FirstDevices();
  if (!devices.has_value()) return std::nullopt;
  Anneal(limits, *devices);
  return PlacementOf(*devices);
}

double TeamMapping::ValueMs(const Placement& placement) const {
  Devices devices;
  for (const Placement::Stage& stage : placement.stages) {
    devices.insert(devices.end(), stage.devices.begin(), stage.devices.end());
  }
  return ValueOf(devices).slowest;
}

bool TeamMapping::MayHold(std::size_t replica, DeviceId device) const {
  return std::isfinite(pairs_.ComputeMs(static_cast<int32_t>(stage_of_replica_[replica]), device));
}

// Neighbouring devices for the replicas of a stage. Which devices a stage may be on depends on their class and memory,
// so the choosiest stages go first and leave the largest devices to the others.
std::optional<TeamMapping::Devices> TeamMapping::FirstDevices() const {
  std::vector<DeviceId> order;
  for (std::size_t i = 0; i < pairs_.num_devices(); ++i) order.emplace_back(i);
  const auto memory = [&](DeviceId device) {
    return UsableMemoryBytes(request_.cluster, device).value_or(std::numeric_limits<int64_t>::max());
  };
  std::stable_sort(order.begin(), order.end(), [&](DeviceId a, DeviceId b) { return memory(a) < memory(b); });
  std::vector<std::pair<std::ptrdiff_t, std::size_t>> stages;
  for (std::size_t stage = 0; stage < replicas_.size(); ++stage) {
    const auto may_hold = [&](DeviceId device) { return MayHold(first_of_stage_[stage], device); };
    stages.emplace_back(std::count_if(order.begin(), order.end(), may_hold), stage);
  }
  std::sort(stages.begin(), stages.end());
  Devices devices(stage_of_replica_.size());
  for (const auto& [count, stage] : stages) {
    for (std::size_t replica = first_of_stage_[stage]; replica < first_of_stage_[stage] + Index(replicas_[stage]);
         ++replica) {
      const auto found =
          std::find_if(order.begin(), order.end(), [&](DeviceId device) { return MayHold(replica, device); });
      if (found == order.end()) return std::nullopt;
      devices[replica] = *found;
      order.erase(found);
    }
  }
  return devices;
}

// A trial gives a replica any device, and whoever holds that device gets the one that becomes free. The mean has a
// small share in the cost, so that there is a way down where the slowest replica does not change.
void TeamMapping::Anneal(const SolveLimits& limits, Devices& devices) const {
  constexpr std::size_t kIdle = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> holds(pairs_.num_devices(), kIdle);
  for (std::size_t replica = 0; replica < devices.size(); ++replica) holds[devices[replica].index()] = replica;
  const auto cost_of = [&] {
    const Value value = ValueOf(devices);
    return value.slowest + kShareOfMean * value.mean;
  };
  RandomStream random(static_cast<uint64_t>(request_.options.seed));
  double cost = cost_of();
  double best_cost = cost;
  Devices best = devices;
  const double scale = cost;
  const int64_t trials = std::min(limits.work, kMaxTrials);
  for (int64_t trial = 0; trial < trials; ++trial) {
    if (trial % kTrialsPerLook == 0 && CheckInterruption(limits).has_value()) break;
    const std::size_t replica = random.Below(devices.size());
    const DeviceId from = devices[replica];
    const DeviceId to(random.Below(holds.size()));
    const std::size_t other = holds[to.index()];
    if (other == replica || !MayHold(replica, to) || (other != kIdle && !MayHold(other, from))) continue;
    const auto exchange = [&](DeviceId mine, DeviceId its) {
      devices[replica] = mine;
      if (other != kIdle) devices[other] = its;
    };
    exchange(to, from);
    const double moved = cost_of();
    const double progress = static_cast<double>(trial) / static_cast<double>(trials);
    const double temperature = scale * kHot * std::pow(kCold / kHot, progress);
    if (moved > cost && random.Unit() >= std::exp((cost - moved) / temperature)) {
      exchange(from, to);
      continue;
    }
    cost = moved;
    holds[to.index()] = replica;
    holds[from.index()] = other;
    if (cost >= best_cost) continue;
    best_cost = cost;
    best = devices;
  }
  devices = std::move(best);
}

TeamMapping::Value TeamMapping::ValueOf(const Devices& devices) const {
  std::vector<MappedWork> work(devices.size());
  for (std::size_t replica = 0; replica < devices.size(); ++replica) {
    work[replica].compute_ms = pairs_.ComputeMs(static_cast<int32_t>(stage_of_replica_[replica]), devices[replica]);
  }
  for (const StageTraffic& traffic : pairs_.traffic) {
    const int32_t senders = replicas_[Index(traffic.from)];
    const int32_t readers = replicas_[Index(traffic.to)];
    const int32_t common = std::gcd(senders, readers);
    for (int32_t sender = 0; sender < senders; ++sender) {
      for (int32_t reader = sender % common; reader < readers; reader += common) {
        const std::size_t a = first_of_stage_[Index(traffic.from)] + Index(sender);
        const std::size_t b = first_of_stage_[Index(traffic.to)] + Index(reader);
        const double forward =
            common * links_.Between(devices[a], devices[b]).Of(traffic.forward_bytes, traffic.forward_transfers);
        const double backward =
            common * links_.Between(devices[b], devices[a]).Of(traffic.backward_bytes, traffic.backward_transfers);
        // Each of the two meets as many replicas as the other stage has, divided by what they have in common.
        work[a].out_ms += forward / readers;
        work[a].in_ms += backward / readers;
        work[b].in_ms += forward / senders;
        work[b].out_ms += backward / senders;
      }
    }
  }
  Value value;
  for (std::size_t stage = 0; stage < replicas_.size(); ++stage) {
    const auto begin = devices.begin() + static_cast<std::ptrdiff_t>(first_of_stage_[stage]);
    const double allreduce = AllReduceMs(stage, {begin, begin + replicas_[stage]});
    for (std::size_t replica = first_of_stage_[stage]; replica < first_of_stage_[stage] + Index(replicas_[stage]);
         ++replica) {
      const double load = work[replica].LoadMs(pairs_.overlap);
      const double time =
          (pairs_.overlap == Overlap::kSerial ? load + allreduce : std::max(load, allreduce)) / replicas_[stage];
      value.slowest = std::max(value.slowest, time);
      value.mean += time / static_cast<double>(devices.size());
    }
  }
  return value;
}

double TeamMapping::AllReduceMs(std::size_t stage, std::vector<DeviceId> ring) const {
  if (ring.size() < 2 || !ReducesGradients(request_.problem)) return 0;
  if (pairs_.free_ring_order) std::sort(ring.begin(), ring.end());
  const AllReduce& rule = request_.problem.allreduce;
  const Picoseconds once =
      AllReduceTime(parameter_bytes_[stage], replicas_[stage], RingSpeed(request_.costs.network(), ring), rule.factor);
  return ToMilliseconds(once) * (rule.charge == AllReduce::Charge::kPerRound ? 1 : replicas_[stage]);
}

Placement TeamMapping::PlacementOf(const Devices& devices) const {
  Placement placement;
  for (std::size_t stage = 0; stage < replicas_.size(); ++stage) {
    const auto begin = devices.begin() + static_cast<std::ptrdiff_t>(first_of_stage_[stage]);
    placement.stages.push_back({partition_.stages[stage], {begin, begin + replicas_[stage]}});
  }
  return placement;
}

}  // namespace planwright
