#include "core/partition/search/missing_device_classes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace planwright {

std::string QuotedClassNames(const Cluster& cluster) {
  std::vector<std::string> names;
  for (std::size_t index = 0; index < cluster.device_classes.size(); ++index) {
    const auto is_of_class = [index](const Device& device) { return device.device_class.index() == index; };
    if (std::ranges::none_of(cluster.devices, is_of_class)) continue;
    names.push_back(absl::StrCat("\"", cluster.device_classes[index].name, "\""));
  }
  return absl::StrJoin(names, ", ");
}

std::string QuotedTogether(const OperatorGraph& graph, const std::vector<OperatorId>& operators) {
  const std::size_t others = operators.size() - 1;
  const std::string name = absl::StrCat("operator \"", graph.operators[operators.front().index()].name, "\"");
  if (others == 0) return name;
  return absl::StrCat(name, " and the ", others, others == 1 ? " operator" : " operators",
                      " that must share its device");
}

bool MissingDeviceClasses::HasClass(std::string_view name) const {
  return std::ranges::any_of(cluster_.device_classes,
                             [name](const DeviceClass& device_class) { return device_class.name == name; });
}

bool MissingDeviceClasses::Explain(const std::vector<OperatorId>& operators) {
  const auto is_known = [this](const OperatorCost& cost) { return HasClass(cost.device_class); };
  bool explains = false;
  for (const OperatorId op : operators) {
    const std::vector<OperatorCost>& costs = graph_.operators[op.index()].costs;
    if (costs.empty() || std::ranges::any_of(costs, is_known)) continue;
    explains = true;
    for (const OperatorCost& cost : costs) ++users_of_.try_emplace(cost.device_class, Users{0, op}).first->second.count;
  }
  return explains;
}

std::vector<Shortage> MissingDeviceClasses::Shortages() const {
  std::vector<Shortage> shortages;
  for (const auto& [name, users] : users_of_) {
    const std::string others = users.count == 1 ? "" : absl::StrCat(" and ", users.count - 1, " more");
    shortages.push_back({"support", name, 0, 0,
                         absl::StrCat("the costs of operator \"", graph_.operators[users.first.index()].name, "\"",
                                      others, " are for device class \"", name,
                                      "\", which the cluster does not have (it has ", QuotedClassNames(cluster_),
                                      "): rename the class, give costs for one of these, or add such devices")});
  }
  return shortages;
}

}  // namespace planwright
