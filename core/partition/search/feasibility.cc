#include "core/partition/search/feasibility.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/known.h"
#include "core/base/quantity_text.h"

namespace planwright {
namespace {

// Bytes that a block needs on any device, whatever shares the device with it.
int64_t BlockBytes(const UnitMemory& memory, std::size_t block) {
  MemorySums sums;
  sums.Add(memory, block);
  return sums.Total(memory, 0, memory.workspace[block]);
}

// Bytes that all blocks together need, reserves and workspace apart.
int64_t TotalBytes(const UnitMemory& memory) {
  MemorySums sums;
  for (std::size_t block = 0; block < memory.linear.size(); ++block) sums.Add(memory, block);
  return sums.Total(memory, 0, 0) - memory.reserved;
}

// Memory of all devices; nullopt: some device is unlimited.
std::optional<int64_t> CapacityOf(const BlockInstance& instance) {
  int64_t capacity = 0;
  for (const DevicePool& pool : instance.pools) {
    if (!pool.memory_bytes.has_value()) return std::nullopt;
    const int64_t usable = std::max<int64_t>(0, *pool.memory_bytes - instance.memory.reserved);
    capacity = SaturatingAdd(capacity, SaturatingMultiply(usable, static_cast<int64_t>(pool.devices.size())));
  }
  return capacity;
}

const std::string& SubjectOf(const OperatorGraph& graph, const BlockInstance& instance, std::size_t block) {
  return graph.operators[instance.operators[block].front().index()].name;
}

std::size_t LargestBlock(const BlockInstance& instance) {
  std::size_t largest = 0;
  for (std::size_t block = 1; block < instance.operators.size(); ++block) {
    if (BlockBytes(instance.memory, block) > BlockBytes(instance.memory, largest)) largest = block;
  }
  return largest;
}

// "operator "embedding" with 1.50 GiB".
std::string TightestText(const OperatorGraph& graph, const BlockInstance& instance) {
  const std::size_t largest = LargestBlock(instance);
  return absl::StrCat(QuotedTogether(graph, instance.operators[largest]), " with ",
                      SizeText(BlockBytes(instance.memory, largest)));
}

// The largest memory of a device that can run `block`; nullopt: unlimited. `runs_anywhere` tells whether there is one.
std::optional<int64_t> LargestDevice(const BlockInstance& instance, std::size_t block, bool& runs_anywhere) {
  std::optional<int64_t> largest = 0;
  runs_anywhere = false;
  for (const DevicePool& pool : instance.pools) {
    if (!pool.supported[block]) continue;
    runs_anywhere = true;
    if (!pool.memory_bytes.has_value()) return std::nullopt;
    largest = std::max(largest, pool.memory_bytes);
  }
  return largest;
}

Shortage UnsupportedBlock(const OperatorGraph& graph, const Cluster& cluster, const BlockInstance& instance,
                          std::size_t block) {
  return {"support", SubjectOf(graph, instance, block), 0, 0,
          absl::StrCat(QuotedTogether(graph, instance.operators[block]),
                       " cannot run on any device class of the cluster (", QuotedClassNames(cluster),
                       "): give it a time or FLOPs and bytes for one of them, or add devices that can run it")};
}

Shortage OversizedBlock(const OperatorGraph& graph, const BlockInstance& instance, std::size_t block,
                        int64_t available) {
  const int64_t needed = BlockBytes(instance.memory, block);
  return {"memory", SubjectOf(graph, instance, block), needed, available,
          absl::StrCat(QuotedTogether(graph, instance.operators[block]),
                       instance.operators[block].size() == 1 ? " needs " : " need ", SizeText(needed),
                       ", but the largest device that can ", "run it offers ", SizeText(available), ": ",
                       MissingText(needed - available))};
}

// Devices until the memory suffices when more of the largest kind are added; 0: more than can be told.
int32_t MinimumDevices(const BlockInstance& instance, int64_t missing) {
  int64_t largest = 0;
  int64_t devices = 0;
  for (const DevicePool& pool : instance.pools) {
    largest = std::max(largest, pool.memory_bytes.value_or(0) - instance.memory.reserved);
    devices += static_cast<int64_t>(pool.devices.size());
  }
  if (largest <= 0) return 0;
  const int64_t needed = devices + CeilDivide(missing, largest);
  return needed <= INT32_MAX ? static_cast<int32_t>(needed) : 0;
}

Shortage TooLargeAltogether(const OperatorGraph& graph, const BlockInstance& instance, int64_t needed,
                            int64_t available) {
  const std::size_t largest = LargestBlock(instance);
  return {"memory", SubjectOf(graph, instance, largest), needed, available,
          absl::StrCat("the model needs ", SizeText(needed), ", but all devices together offer ", SizeText(available),
                       ": ", MissingText(needed - available), "; the tightest is ", TightestText(graph, instance))};
}

}  // namespace

std::optional<Infeasibility> FindShortages(const OperatorGraph& graph, const Cluster& cluster,
                                           const BlockInstance& instance) {
  Infeasibility infeasibility;
  MissingDeviceClasses missing_device_classes(graph, cluster);
  for (std::size_t block = 0; block < instance.operators.size(); ++block) {
    bool runs_anywhere = false;
    const std::optional<int64_t> available = LargestDevice(instance, block, runs_anywhere);
    if (!runs_anywhere && missing_device_classes.Explain(instance.operators[block])) continue;
    if (!runs_anywhere) {
      infeasibility.Add(UnsupportedBlock(graph, cluster, instance, block));
    } else if (available.has_value() && BlockBytes(instance.memory, block) > *available) {
      infeasibility.Add(OversizedBlock(graph, instance, block, *available));
    }
  }
  for (Shortage& shortage : missing_device_classes.Shortages()) infeasibility.shortages.push_back(std::move(shortage));
  const int64_t total = TotalBytes(instance.memory);
  const std::optional<int64_t> capacity = CapacityOf(instance);
  if (capacity.has_value() && total > *capacity) {
    if (infeasibility.shortages.empty()) infeasibility.minimum_devices = MinimumDevices(instance, total - *capacity);
    infeasibility.shortages.insert(infeasibility.shortages.begin(),
                                   TooLargeAltogether(graph, instance, total, *capacity));
  }
  if (infeasibility.shortages.empty()) return std::nullopt;
  return infeasibility;
}

std::string MemoryDemandText(const OperatorGraph& graph, const Cluster& cluster, const BlockInstance& instance) {
  const std::optional<int64_t> capacity = CapacityOf(instance);
  if (!capacity.has_value()) return "";
  const auto largest =
      std::max_element(instance.pools.begin(), instance.pools.end(),
                       [](const DevicePool& a, const DevicePool& b) { return a.memory_bytes < b.memory_bytes; });
  return absl::StrCat("the model needs at least ", SizeText(TotalBytes(instance.memory)), " of ", SizeText(*capacity),
                      " on all devices; the tightest is ", TightestText(graph, instance), ", of ",
                      SizeText(Known(largest->memory_bytes)), " on device \"",
                      cluster.devices[largest->devices.front().index()].name, "\"");
}

Infeasibility NoSplitFits(const OperatorGraph& graph, const BlockInstance& instance) {
  const std::size_t largest = LargestBlock(instance);
  const int64_t needed = TotalBytes(instance.memory);
  const int64_t available = CapacityOf(instance).value_or(0);
  return {{{"memory", SubjectOf(graph, instance, largest), needed, available,
            absl::StrCat("every contiguous split overfills a device: the model needs ", SizeText(needed), " of ",
                         SizeText(available),
                         " on all devices, but its operators do not divide into stages that fit; the tightest is ",
                         TightestText(graph, instance), ". Use devices with more memory, or more of them")}},
          0};
}

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
