#include "core/partition/enumeration/device_options.h"

#include "core/base/index.h"
#include "core/model/cluster.h"
#include "core/model/device_selection.h"

namespace planwright {

DeviceOptions::DeviceOptions(const SearchRequest& request) : request_(request) {
  const Cluster& cluster = request.cluster;
  for (const DeviceId device : SelectedDevices(cluster, request.problem.devices_to_use)) {
    options_.push_back({.device = device,
                        .device_class = cluster.devices[device.index()].device_class,
                        .memory_bytes = UsableMemoryBytes(cluster, device),
                        .is_cpu = cluster.class_of(device).kind == DeviceKind::kCpu});
  }
  const std::vector<std::vector<OperatorId>> each = MappedNumbers(
      request.graph.operators.size(), [&](std::size_t op) { return std::vector<OperatorId>{OperatorId(op)}; });
  allowed_ = AllowedDevices(request.problem, cluster.devices.size(), each.size(), each);
  AddLimits();
  AddKinds();
}

void DeviceOptions::AddLimits() {
  max_used_ = options_.size();
  if (request_.problem.devices_to_use.max_devices.has_value()) {
    const int64_t most = *request_.problem.devices_to_use.max_devices;
    limits_.push_back({std::vector<bool>(options_.size(), true), most});
    max_used_ = std::min(max_used_, static_cast<std::size_t>(most));
  }
  for (const DeviceLimit& limit : request_.device_limits) {
    Limit& made = limits_.emplace_back();
    made.most = limit.most;
    std::size_t unlimited = 0;
    for (const DeviceOption& option : options_) {
      made.counts.push_back(std::binary_search(limit.devices.begin(), limit.devices.end(), option.device));
      if (!made.counts.back()) ++unlimited;
    }
    max_used_ = std::min(max_used_, unlimited + static_cast<std::size_t>(limit.most));
  }
}

void DeviceOptions::AddKinds() {
  const std::vector<bool> is_named = NamedByRules();
  for (std::size_t position = 0; position < options_.size(); ++position) {
    const auto kind = std::find_if(kinds_.begin(), kinds_.end(), [&](const auto& members) {
      return !is_named[position] && !is_named[members.front()] && AreAlike(members.front(), position);
    });
    options_[position].kind = static_cast<std::size_t>(kind - kinds_.begin());
    if (kind == kinds_.end()) {
      kinds_.push_back({position});
    } else {
      kind->push_back(position);
    }
  }
}

// By position: some pin or ban speaks of the device.
std::vector<bool> DeviceOptions::NamedByRules() const {
  std::vector<bool> is_named(request_.cluster.devices.size());
  for (const OperatorDevice& pin : request_.problem.pinned) is_named[pin.device.index()] = true;
  for (const OperatorDevice& ban : request_.problem.forbidden) is_named[ban.device.index()] = true;
  return Mapped(options_, [&](const DeviceOption& option) -> bool { return is_named[option.device.index()]; });
}

// REQUIRES: no pin or ban names either.
bool DeviceOptions::AreAlike(std::size_t a, std::size_t b) const {
  const DeviceOption& option_a = options_[a];
  const DeviceOption& option_b = options_[b];
  if (option_a.device_class != option_b.device_class || option_a.memory_bytes != option_b.memory_bytes) return false;
  for (const Limit& limit : limits_) {
    if (limit.counts[a] != limit.counts[b]) return false;
  }
  const Network& network = request_.costs.network();
  if (network.num_link_classes() < 2) return true;
  return std::all_of(options_.begin(), options_.end(), [&](const DeviceOption& other) {
    return other.device == option_a.device || other.device == option_b.device ||
           network.LinkClassOf(option_a.device, other.device) == network.LinkClassOf(option_b.device, other.device);
  });
}

DeviceOptions::Group DeviceOptions::MakeGroup(const std::vector<OperatorId>& operators) const {
  Group group{.may_hold = MayHold(operators), .compute = {}};
  std::optional<Picoseconds> least;
  for (std::size_t position = 0; position < options_.size(); ++position) {
    MicroBatchWork& work = group.compute.emplace_back();
    for (const OperatorId op : operators) {
      const OperatorTime& time = request_.costs.time(op, options_[position].device_class);
      work.forward.compute += time.forward;
      work.backward.compute += time.backward;
    }
    const Picoseconds time = work.forward.compute + work.backward.compute;
    if (group.may_hold[position]) least = std::min(least.value_or(time), time);
  }
  group.least_time = least.value_or(Picoseconds(0));
  return group;
}

std::vector<bool> DeviceOptions::MayHold(const std::vector<OperatorId>& operators) const {
  const auto runs = [&](OperatorId op, const DeviceOption& option) {
    return request_.costs.time(op, option.device_class).supported && Holds(allowed_[op.index()], option.device.index());
  };
  return Mapped(options_, [&](const DeviceOption& option) {
    return std::all_of(operators.begin(), operators.end(), [&](OperatorId op) { return runs(op, option); });
  });
}

}  // namespace planwright
