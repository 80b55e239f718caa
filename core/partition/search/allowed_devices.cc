#include "core/partition/search/allowed_devices.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "absl/strings/str_cat.h"
#include "core/base/index.h"
#include "core/base/interruption.h"
#include "core/base/union_find.h"
#include "core/graph/operator_unions.h"

namespace planwright {
namespace {

// Of a set that is filled.
constexpr std::size_t kDevicesPerUnit = 64;

}  // namespace

bool Intersect(const DeviceSet& other, DeviceSet& set) {
  if (other.empty()) return true;
  if (set.empty()) set.assign(other.size(), true);
  bool is_any_left = false;
  for (std::size_t device = 0; device < set.size(); ++device) {
    set[device] = set[device] && other[device];
    is_any_left |= set[device];
  }
  return is_any_left;
}

std::vector<DeviceSet> AllowedDevices(const ResolvedProblem& problem, std::size_t num_devices,
                                      std::size_t num_operators, const std::vector<std::vector<OperatorId>>& groups) {
  const std::vector<int32_t> group_of = GroupOfEach(groups, num_operators);
  std::vector<DeviceSet> allowed(groups.size());
  // nullptr: the operator is in no group.
  const auto set_of = [&](OperatorId op) -> DeviceSet* {
    if (group_of[op.index()] == kDropped) return nullptr;
    DeviceSet& set = allowed[Index(group_of[op.index()])];
    if (set.empty()) {
      InterruptionPoint(num_devices / kDevicesPerUnit);
      set.assign(num_devices, true);
    }
    return &set;
  };
  for (const OperatorDevice& pin : problem.pinned) {
    DeviceSet* const set = set_of(pin.op);
    if (set == nullptr) continue;
    InterruptionPoint(1 + num_devices / kDevicesPerUnit);
    const bool is_left = (*set)[pin.device.index()];
    std::fill(set->begin(), set->end(), false);
    (*set)[pin.device.index()] = is_left;
  }
  for (const OperatorDevice& ban : problem.forbidden) {
    DeviceSet* const set = set_of(ban.op);
    if (set == nullptr) continue;
    InterruptionPoint();
    (*set)[ban.device.index()] = false;
  }
  return allowed;
}

OperatorGraph WithPinsUnited(OperatorGraph graph, const ResolvedProblem& problem) {
  if (problem.pinned.empty()) return graph;
  const std::vector<int32_t> union_of = ColocationUnions(graph, problem);
  UnionFind united(CountLabels(union_of));
  std::map<DeviceId, int32_t> union_on;
  for (const OperatorDevice& pin : problem.pinned) {
    const int32_t label = union_of[pin.op.index()];
    if (label != kDropped) united.Unite(union_on.try_emplace(pin.device, label).first->second, label);
  }
  const std::vector<int32_t> label_of = united.Labels();
  // Each union is renamed as a whole, so none is torn apart.
  for (std::size_t op = 0; op < union_of.size(); ++op) {
    if (union_of[op] == kDropped) continue;
    graph.operators[op].colocation_group = absl::StrCat("union ", label_of[Index(union_of[op])]);
  }
  return graph;
}

}  // namespace planwright
