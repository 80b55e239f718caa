#include "client/importer/graphs/class_times.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace planwright::client {
namespace {

bool IsUnnamed(const v1::OperatorCost& cost) { return cost.device_class() == kUnnamedClass; }

// One cost for each class in place of the unnamed one.
void NameClassesOf(const std::vector<std::string>& accelerators, const std::vector<std::string>& cpus,
                   v1::Operator& op) {
  const auto unnamed = std::find_if(op.costs().begin(), op.costs().end(), IsUnnamed);
  if (unnamed == op.costs().end()) return;
  v1::OperatorCost cost = *unnamed;
  op.mutable_costs()->erase(unnamed);
  for (const std::string& name : accelerators) {
    cost.set_device_class(name);
    *op.add_costs() = cost;
  }
  const bool can_be_estimated = op.forward_flops() > 0 || op.forward_bytes_accessed() > 0;
  if (can_be_estimated) return;
  for (const std::string& name : cpus) op.add_unsupported_device_classes(name);
}

}  // namespace

bool HasUnnamedTimes(const v1::Graph& graph) {
  return std::any_of(graph.operators().begin(), graph.operators().end(), [](const v1::Operator& op) {
    return std::any_of(op.costs().begin(), op.costs().end(), IsUnnamed);
  });
}

std::optional<std::string> NameClasses(const v1::Cluster& cluster, v1::Graph& graph) {
  std::vector<std::string> accelerators;
  std::vector<std::string> cpus;
  for (const v1::DeviceClass& device_class : cluster.device_classes()) {
    if (device_class.name() == kUnnamedClass) return std::nullopt;
    (device_class.kind() == v1::DEVICE_KIND_CPU ? cpus : accelerators).push_back(device_class.name());
  }
  if (accelerators.empty() || !HasUnnamedTimes(graph)) return std::nullopt;
  for (v1::Operator& op : *graph.mutable_operators()) NameClassesOf(accelerators, cpus, op);
  return absl::StrCat(
      "the graph's file does not say where its times were measured: they are taken for those of ",
      absl::StrJoin(accelerators, ", "),
      cpus.empty() ? "" : absl::StrCat(", and those without FLOPs cannot run on ", absl::StrJoin(cpus, ", ")));
}

}  // namespace planwright::client
