#include "server/engine/plans/plan_numbering.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/base/strings.h"

namespace planwright::server {
namespace {

template <typename Id, typename Element>
std::vector<Id> IdsByName(const std::vector<Element>& elements) {
  std::vector<std::pair<std::string_view, Id>> named;
  named.reserve(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) named.emplace_back(elements[i].name, Id(i));
  std::sort(named.begin(), named.end());
  std::vector<Id> ids;
  ids.reserve(named.size());
  for (const auto& [name, id] : named) ids.push_back(id);
  return ids;
}

std::vector<DeviceId> IdsOf(const std::vector<std::string>& names, const Cluster& cluster) {
  absl::flat_hash_map<absl::string_view, DeviceId> id_of;
  id_of.reserve(cluster.devices.size());
  for (std::size_t i = 0; i < cluster.devices.size(); ++i) id_of.emplace(ToAbsl(cluster.devices[i].name), DeviceId(i));
  std::vector<DeviceId> ids;
  ids.reserve(names.size());
  for (const std::string& name : names) ids.push_back(id_of.at(ToAbsl(name)));
  return ids;
}

// The number of each id; meaningless for those without one.
template <typename Id>
std::vector<Id> Inverse(const std::vector<Id>& ids) {
  std::size_t size = 0;
  for (const Id id : ids) size = std::max(size, id.index() + 1);
  std::vector<Id> numbers(size);
  for (std::size_t number = 0; number < ids.size(); ++number) numbers[ids[number].index()] = Id(number);
  return numbers;
}

// New ids for old ones, and lists in the order of the new ones.
class Renumbering {
 public:
  Renumbering(const std::vector<OperatorId>& operators, const std::vector<DeviceId>& devices, bool has_directed_links)
      : operators_(operators), devices_(devices), has_directed_links_(has_directed_links) {}

  void Apply(Plan& plan) const {
    for (Stage& stage : plan.stages) Apply(stage);
    for (DeviceUsage& usage : plan.devices) Replace(usage.device);
    std::sort(plan.devices.begin(), plan.devices.end(),
              [](const DeviceUsage& a, const DeviceUsage& b) { return a.device < b.device; });
    for (LinkUsage& link : plan.links) Apply(link);
    std::sort(plan.links.begin(), plan.links.end(), [](const LinkUsage& a, const LinkUsage& b) {
      return std::tie(a.device_a, a.device_b) < std::tie(b.device_a, b.device_b);
    });
  }

 private:
  void Replace(DeviceId& device) const { device = devices_[device.index()]; }

  void Apply(Stage& stage) const {
    for (OperatorId& op : stage.operators) op = operators_[op.index()];
    std::sort(stage.operators.begin(), stage.operators.end());
    for (Replica& replica : stage.replicas) Replace(replica.device);
    for (DeviceId& device : stage.ring_order) Replace(device);
  }

  void Apply(LinkUsage& link) const {
    Replace(link.device_a);
    Replace(link.device_b);
    if (!has_directed_links_ && link.device_b < link.device_a) std::swap(link.device_a, link.device_b);
  }

  const std::vector<OperatorId>& operators_;
  const std::vector<DeviceId>& devices_;
  const bool has_directed_links_;
};

}  // namespace

Numbering NumberingOf(const OperatorGraph& graph, const Cluster& cluster, const std::vector<std::string>& devices,
                      bool has_directed_links) {
  return {.operators = IdsByName<OperatorId>(graph.operators),
          .devices = devices.empty() ? IdsByName<DeviceId>(cluster.devices) : IdsOf(devices, cluster),
          .has_directed_links = has_directed_links};
}

Plan WithNumbers(Plan plan, const Numbering& numbering) {
  ResolvedProblem kept;
  kept.schedule = plan.problem.schedule;
  kept.micro_batches = plan.problem.micro_batches;
  plan.problem = std::move(kept);
  const std::vector<OperatorId> operators = Inverse(numbering.operators);
  const std::vector<DeviceId> devices = Inverse(numbering.devices);
  Renumbering(operators, devices, numbering.has_directed_links).Apply(plan);
  return plan;
}

Plan WithIds(Plan plan, const Numbering& numbering) {
  Renumbering(numbering.operators, numbering.devices, numbering.has_directed_links).Apply(plan);
  return plan;
}

}  // namespace planwright::server
