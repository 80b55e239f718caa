#include "core/partition/latency/latency_feasibility.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/index.h"
#include "core/base/quantity_text.h"
#include "core/partition/search/feasibility.h"

namespace planwright {
namespace {

const std::string& SubjectOf(const OperatorGraph& graph, const LatencyInstance& instance, int32_t group) {
  const std::size_t first = Index(instance.groups[Index(group)].front());
  return graph.operators[instance.operators[first].index()].name;
}

std::vector<OperatorId> OperatorsOf(const LatencyInstance& instance, int32_t group) {
  std::vector<OperatorId> operators;
  for (const int32_t vertex : instance.groups[Index(group)]) operators.push_back(instance.operators[Index(vertex)]);
  return operators;
}

std::string GroupName(const OperatorGraph& graph, const LatencyInstance& instance, int32_t group) {
  return QuotedTogether(graph, OperatorsOf(instance, group));
}

Shortage NowhereAllowed(const OperatorGraph& graph, const Cluster& cluster, const LatencyInstance& instance,
                        int32_t group) {
  return {"support", SubjectOf(graph, instance, group), 0, 0,
          absl::StrCat(GroupName(graph, instance, group), " cannot run on any device of the cluster (classes ",
                       QuotedClassNames(cluster),
                       "): give it a time or FLOPs and bytes for one of them, add devices that can run it, or relax "
                       "problem.pinned and problem.forbidden")};
}

Shortage Oversized(const OperatorGraph& graph, const LatencyInstance& instance, int32_t group, int64_t available) {
  const int64_t needed = LeastGroupBytes(instance, group);
  return {"memory", SubjectOf(graph, instance, group), needed, available,
          absl::StrCat(GroupName(graph, instance, group), " needs ", SizeText(needed),
                       " and may not be on a CPU, but the ", "largest accelerator that it may be on offers ",
                       SizeText(available), ": ", MissingText(needed - available))};
}

// The memory of the largest accelerator that the group may be on; nullopt: unlimited. 0: there is none.
std::optional<int64_t> LargestAccelerator(const LatencyInstance& instance, int32_t group) {
  int64_t largest = 0;
  for (std::size_t accelerator = 0; accelerator < instance.accelerators.size(); ++accelerator) {
    if (!instance.allowed[Index(group)][accelerator]) continue;
    const std::optional<int64_t>& limit = instance.pool_of(static_cast<int32_t>(accelerator)).memory_bytes;
    if (!limit.has_value()) return std::nullopt;
    largest = std::max(largest, *limit);
  }
  return largest;
}

// What must be on accelerators is larger than all of them together.
std::optional<Shortage> TooLargeAltogether(const OperatorGraph& graph, const LatencyInstance& instance) {
  int64_t available = 0;
  for (const DevicePool& pool : instance.pools) {
    if (!pool.memory_bytes.has_value()) return std::nullopt;
    available = SaturatingAdd(available, SaturatingMultiply(*pool.memory_bytes, std::ssize(pool.devices)));
  }
  int64_t needed = 0;
  int32_t largest = 0;
  for (int32_t group = 0; group < instance.num_groups(); ++group) {
    if (instance.allowed_on_cpu[Index(group)]) continue;
    needed = SaturatingAdd(needed, LeastGroupBytes(instance, group));
    if (LeastGroupBytes(instance, group) > LeastGroupBytes(instance, largest)) largest = group;
  }
  if (needed <= available) return std::nullopt;
  return Shortage{"memory", SubjectOf(graph, instance, largest), needed, available,
                  absl::StrCat("the operators that may not be on CPUs need ", SizeText(needed),
                               ", but all accelerators together offer ", SizeText(available), ": ",
                               MissingText(needed - available))};
}

}  // namespace

int64_t LeastGroupBytes(const LatencyInstance& instance, int32_t group) {
  const UnitMemory& memory = instance.memory;
  int64_t linear = 0;
  int64_t parameters = 0;
  for (const int32_t vertex : instance.groups[Index(group)]) {
    linear = SaturatingAdd(linear, memory.linear[Index(vertex)]);
    parameters = SaturatingAdd(parameters, memory.parameters[Index(vertex)]);
  }
  return linear + static_cast<int64_t>(static_cast<double>(parameters) * memory.parameter_factor);
}

std::optional<Infeasibility> FindLatencyShortages(const OperatorGraph& graph, const Cluster& cluster,
                                                  const LatencyInstance& instance) {
  Infeasibility infeasibility;
  MissingDeviceClasses missing_device_classes(graph, cluster);
  for (int32_t group = 0; group < instance.num_groups(); ++group) {
    if (instance.allowed_on_cpu[Index(group)]) continue;
    const std::vector<bool>& allowed = instance.allowed[Index(group)];
    const std::optional<int64_t> largest = LargestAccelerator(instance, group);
    const bool runs_anywhere = std::find(allowed.begin(), allowed.end(), true) != allowed.end();
    if (!runs_anywhere && missing_device_classes.Explain(OperatorsOf(instance, group))) continue;
    if (!runs_anywhere) {
      infeasibility.Add(NowhereAllowed(graph, cluster, instance, group));
    } else if (largest.has_value() && LeastGroupBytes(instance, group) > *largest) {
      infeasibility.Add(Oversized(graph, instance, group, *largest));
    }
  }
  for (Shortage& shortage : missing_device_classes.Shortages()) infeasibility.shortages.push_back(std::move(shortage));
  std::optional<Shortage> altogether = TooLargeAltogether(graph, instance);
  if (altogether.has_value()) infeasibility.shortages.insert(infeasibility.shortages.begin(), *std::move(altogether));
  if (infeasibility.shortages.empty()) return std::nullopt;
  return infeasibility;
}

}  // namespace planwright
