#include "core/joint/plan/device_parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "core/base/units.h"
#include "core/joint/plan/settings.h"

namespace planwright {
namespace {

// The devices of one stage, for all degrees that may be chosen, up to `most`.
std::set<int64_t> BlocksUpTo(int64_t most, const JointSettings& settings) {
  std::set<int64_t> blocks;
  const std::vector<int32_t> data_degrees = DataDegreesUpTo(most, settings);
  for (const int64_t tensor : settings.tensor_degrees) {
    for (const int64_t context : settings.context_degrees) {
      if (tensor > most || context > most / tensor) continue;
      for (const int64_t data : data_degrees) {
        if (data <= most / (tensor * context)) blocks.insert(tensor * context * data);
      }
    }
  }
  return blocks;
}

// How many devices of each node of the class blocks of so many fill; all where that makes no difference.
int64_t FilledBy(int64_t block, const TrainingClass& part, int64_t count) {
  const int64_t node = part.devices_per_node;
  if (part.nodes == 1 || count >= part.devices()) return node;
  if (block <= node) return node / block * block;
  for (int64_t nodes = CeilDivide(block, node); nodes <= part.nodes; ++nodes) {
    if (block % nodes == 0) return block / nodes;
  }
  return node;
}

// The first so many devices of each node, by class.
TrainingCluster WithNodesOf(const TrainingCluster& all, const DeviceCounts& filled) {
  TrainingCluster part = all;
  part.devices.clear();
  auto next = all.devices.begin();
  for (std::size_t number = 0; number < all.classes.size(); ++number) {
    const TrainingClass& own = all.classes[number];
    part.classes[number].devices_per_node = static_cast<int32_t>(filled[number]);
    for (int32_t node = 0; node < own.nodes; ++node, next += own.devices_per_node) {
      part.devices.insert(part.devices.end(), next, next + filled[number]);
    }
  }
  return part;
}

// As far as the classes have so many.
TrainingCluster AtMost(const TrainingCluster& cluster, DeviceCounts counts) {
  for (std::size_t number = 0; number < counts.size(); ++number) {
    counts[number] = std::min(counts[number], cluster.classes[number].devices());
  }
  return FirstDevicesByClass(cluster, counts);
}

// Whether plans may lie on none of the parts (BoundPartsWith).
bool MayLieElsewhere(const TrainingCluster& all, const DeviceCounts& counts, bool per_stage, bool is_one_mix) {
  std::set<DeviceClassId> classes;
  bool is_cut = false;
  bool has_nodes = false;
  for (std::size_t number = 0; number < counts.size(); ++number) {
    const TrainingClass& own = all.classes[number];
    classes.insert(own.device_class);
    is_cut = is_cut || counts[number] < own.devices();
    has_nodes = has_nodes || own.nodes > 1;
  }
  const bool has_sizes = classes.size() < counts.size();
  return is_cut && ((per_stage && (has_nodes || has_sizes)) || (is_one_mix && has_sizes));
}

// By class of devices one node that has all of the part, with the memory of those of `all` that have most.
TrainingCluster InOneNode(TrainingCluster part, const TrainingCluster& all) {
  std::vector<TrainingClass> classes;
  for (const TrainingClass& own : part.classes) {
    if (classes.empty() || classes.back().device_class != own.device_class) {
      classes.push_back(own);
      classes.back().nodes = 1;
      classes.back().devices_per_node = 0;
    }
    classes.back().devices_per_node += static_cast<int32_t>(own.devices());
  }
  for (TrainingClass& one : classes) {
    for (const TrainingClass& other : all.classes) {
      if (other.device_class != one.device_class) continue;
      one.memory_bytes = std::max(one.memory_bytes, other.memory_bytes);
      one.most_memory_bytes = std::max(one.most_memory_bytes, other.most_memory_bytes);
    }
  }
  part.classes = std::move(classes);
  return part;
}

}  // namespace

std::vector<TrainingCluster> PartsWith(const TrainingCluster& all, const DeviceCounts& counts,
                                       const JointSettings& settings) {
  std::vector<TrainingCluster> parts = {FirstDevicesByClass(all, counts)};
  DeviceCounts whole;
  for (const TrainingClass& own : all.classes) whole.push_back(own.devices_per_node);
  std::set<DeviceCounts> known = {whole};
  for (const int64_t block : BlocksUpTo(TotalOf(counts), settings)) {
    DeviceCounts filled;
    for (std::size_t number = 0; number < counts.size(); ++number) {
      filled.push_back(FilledBy(block, all.classes[number], counts[number]));
    }
    if (known.contains(filled)) continue;
    TrainingCluster part = AtMost(WithNodesOf(all, filled), counts);
    // Else whole nodes hold as many blocks, closer together.
    if (part.BlocksOf(block) <= parts.front().BlocksOf(block)) continue;
    known.insert(filled);
    parts.push_back(std::move(part));
  }
  return parts;
}

TrainingCluster AsOneNode(const TrainingCluster& all, int64_t count) {
  return InOneNode(FirstDevices(all, count), all);
}

std::vector<TrainingCluster> BoundPartsWith(const TrainingCluster& all, const DeviceCounts& counts,
                                            const JointSettings& settings, bool is_one_mix) {
  std::vector<TrainingCluster> parts = PartsWith(all, counts, settings);
  if (MayLieElsewhere(all, counts, settings.per_stage, is_one_mix)) {
    parts.push_back(InOneNode(parts.front(), is_one_mix ? all : parts.front()));
  }
  return parts;
}

}  // namespace planwright
