#include "core/partition/sequence/device_teams.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "core/base/index.h"
#include "core/cost/device_load.h"
#include "core/cost/terms/transfer.h"
#include "core/partition/search/allowed_devices.h"

namespace planwright {
namespace {

// Larger rings stay in the order of the cluster.
constexpr std::size_t kMostToOrder = 64;

}  // namespace

DeviceTeams::DeviceTeams(const SearchRequest& request, const IntervalTable& table, const DeviceSequence& sequence,
                         const std::vector<std::vector<std::size_t>>& first_begin_of, int32_t replicas)
    : request_(request),
      table_(table),
      sequence_(sequence),
      first_begin_of_(first_begin_of),
      replicas_(replicas),
      teams_(sequence.size()) {
  for (std::size_t link_class = 0; link_class < request.costs.network().num_link_classes(); ++link_class) {
    time_of_class_.push_back(table.TimeOverLink(link_class));
  }
}

const DeviceTeam& DeviceTeams::TeamAt(std::size_t begin) {
  std::optional<DeviceTeam>& team = teams_[begin];
  if (!team.has_value()) team = MakeTeam(begin);
  return *team;
}

std::vector<DeviceId> RingOf(const SearchRequest& request, std::vector<DeviceId> devices) {
  if (request.problem.allreduce.ring != AllReduce::Ring::kFree) return devices;
  std::sort(devices.begin(), devices.end());
  const Network& network = request.costs.network();
  const bool is_tree = std::holds_alternative<HierarchyInterconnect>(request.cluster.interconnect);
  if (is_tree || devices.size() < 4 || devices.size() > kMostToOrder || network.num_link_classes() == 1) return devices;
  const auto key = [](const LinkSpeed& speed) {
    return std::pair(speed.bandwidth_bytes_per_second.value_or(0), -speed.latency);
  };
  std::vector<DeviceId> nearest = devices;
  for (auto next = nearest.begin() + 1; next != nearest.end(); ++next) {
    const DeviceId last = *std::prev(next);
    const auto speed = [&](DeviceId device) { return key(network.speed(network.LinkClassOf(last, device))); };
    std::iter_swap(next, std::ranges::max_element(next, nearest.end(), {}, speed));
  }
  return key(RingSpeed(network, devices)) < key(RingSpeed(network, nearest)) ? nearest : devices;
}

DeviceTeam DeviceTeams::MakeTeam(std::size_t begin) const {
  DeviceTeam team;
  if (begin + Index(replicas_) > sequence_.size()) return team;
  std::vector<DeviceId> devices = DevicesFrom(begin);
  team.device_class = request_.cluster.devices[devices.front().index()].device_class;
  team.first_begin.assign(table_.size() + 1, 0);
  for (std::size_t end = 1; end <= table_.size(); ++end) {
    team.first_begin[end] = table_.FirstBegin(team.device_class, end);
  }
  for (const DeviceId device : devices) {
    if (request_.cluster.devices[device.index()].device_class != team.device_class) return team;
    const std::optional<int64_t> memory = UsableMemoryBytes(request_.cluster, device);
    if (memory.has_value()) team.memory_bytes = std::min(*memory, team.memory_bytes.value_or(*memory));
    if (first_begin_of_.empty()) continue;
    const std::vector<std::size_t>& allowed = first_begin_of_[device.index()];
    for (std::size_t end = 1; end < allowed.size(); ++end) {
      team.first_begin[end] = std::max(team.first_begin[end], allowed[end]);
    }
  }
  team.is_valid = true;
  if (replicas_ > 1 && ReducesGradients(request_.problem)) {
    team.ring = RingSpeed(request_.costs.network(), RingOf(request_, std::move(devices)));
  }
  return team;
}

std::size_t DeviceTeams::LinkBetween(std::size_t before, std::size_t behind_end) const {
  if (time_of_class_.size() == 1) return 0;
  const std::size_t size = std::min(Index(replicas_), sequence_.size() - before);
  const std::size_t behind = behind_end - std::min(behind_end, Index(replicas_));
  std::size_t slowest = 0;
  for (std::size_t copy = 0; copy < size; ++copy) {
    const DeviceId other = DeviceAt(std::min(behind + copy, behind_end - 1));
    const std::size_t link_class = request_.costs.network().LinkClassOf(DeviceAt(before + copy), other);
    if (copy == 0 || time_of_class_[link_class] > time_of_class_[slowest]) slowest = link_class;
  }
  return slowest;
}

std::vector<DeviceId> DeviceTeams::DevicesFrom(std::size_t begin) const {
  return MappedNumbers(Index(replicas_), [&](std::size_t copy) { return DeviceAt(begin + copy); });
}

std::vector<std::vector<std::size_t>> AllowedBegins(const SearchRequest& request, const UnitOrder& units) {
  if (request.problem.pinned.empty() && request.problem.forbidden.empty()) return {};
  const std::size_t num_devices = request.cluster.devices.size();
  const std::vector<DeviceSet> allowed =
      AllowedDevices(request.problem, num_devices, request.graph.operators.size(), units);
  std::vector<std::vector<std::size_t>> first_begin(num_devices, std::vector<std::size_t>(units.size() + 1, 0));
  for (std::size_t device = 0; device < num_devices; ++device) {
    for (std::size_t unit = 0; unit < units.size(); ++unit) {
      const bool is_allowed = Holds(allowed[unit], device);
      first_begin[device][unit + 1] = is_allowed ? first_begin[device][unit] : unit + 1;
    }
  }
  return first_begin;
}

}  // namespace planwright
