#include "core/partition/stage_annealing/pipeline_starts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/graph/digraph.h"

namespace planwright {
namespace {

int32_t Below(RandomStream& random, int32_t bound) {
  return static_cast<int32_t>(random.Below(static_cast<uint64_t>(bound)));
}

// Returns the linear order by the numbers of the blocks, or a random one.
std::vector<int32_t> LinearOrder(const PipelineTables& tables, RandomStream& random) {
  std::vector<int64_t> priority(Index(tables.num_blocks()), 0);
  if (random.Below(2) == 0) {
    for (int64_t& value : priority) value = random.Between(0, tables.num_blocks());
  }
  return DepthFirstTopologicalOrder(tables.precedence(), priority);
}

// Devices in the order in which stages take them; a class in use is used up before the next one, CPUs mostly last.
std::vector<int32_t> DeviceOrder(const PipelineTables& tables, RandomStream& random) {
  std::vector<int32_t> order = FirstNumbers(Index(tables.num_devices()));
  if (random.Below(2) == 0) {
    for (int32_t i = 0; i + 1 < tables.num_devices(); ++i) {
      std::swap(order[Index(i)], order[Index(i + Below(random, tables.num_devices() - i))]);
    }
  }
  std::vector<uint64_t> rank;
  for (int32_t device_class = 0; device_class < tables.num_classes(); ++device_class) {
    const bool is_last = tables.is_cpu(device_class) && random.Below(4) > 0;
    rank.push_back((is_last ? uint64_t{1} << 32U : 0) + random.Below(uint64_t{1} << 32U));
  }
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return rank[Index(tables.class_of(a))] < rank[Index(tables.class_of(b))];
  });
  return order;
}

// As many of one class as are asked for, from the front; empty: there are none.
std::vector<int32_t> TakeTeam(const PipelineTables& tables, int32_t replicas, std::vector<int32_t>& devices) {
  const auto is_team = [&](std::size_t first) {
    const std::size_t last = first + Index(replicas) - 1;
    return last < devices.size() && tables.class_of(devices[first]) == tables.class_of(devices[last]);
  };
  for (std::size_t first = 0; first < devices.size(); ++first) {
    if (!is_team(first)) continue;
    const auto begin = devices.begin() + static_cast<std::ptrdiff_t>(first);
    std::vector<int32_t> team(begin, begin + replicas);
    devices.erase(begin, begin + replicas);
    return team;
  }
  return {};
}

// Devices that are connected to one drawn at random as its neighbour is, both included: those of its node.
int32_t SizeOfNode(const PipelineTables& tables, RandomStream& random) {
  const int32_t device = Below(random, tables.num_devices());
  const int32_t neighbour = device > 0 ? device - 1 : device + 1;
  if (neighbour == tables.num_devices()) return 1;
  const std::size_t link = tables.LinkClassOf(device, neighbour);
  int32_t size = 1;
  for (int32_t other = 0; other < tables.num_devices(); ++other) {
    if (other != device && tables.LinkClassOf(device, other) == link) ++size;
  }
  return size;
}

// Chooses up to as many as the largest class has, small numbers as likely as large ones.
int32_t ChooseReplicas(const PipelineTables& tables, RandomStream& random) {
  if (const auto fixed = tables.fixed_replicas(); fixed.has_value()) return *fixed;
  std::vector<int32_t> sizes(Index(tables.num_classes()), 0);
  for (int32_t device = 0; device < tables.num_devices(); ++device) ++sizes[Index(tables.class_of(device))];
  const int32_t most = *std::max_element(sizes.begin(), sizes.end());
  if (random.Below(2) == 0) return std::max(1, most / (1 + Below(random, most)));
  return std::min(most, static_cast<int32_t>(std::pow(most + 1, random.Unit())));
}

// A node for each of some stages, in the order of the cluster; empty where no class has so many devices.
std::vector<std::vector<int32_t>> TeamsOfNodes(const PipelineTables& tables, RandomStream& random) {
  const int32_t size = SizeOfNode(tables, random);
  const int32_t room = std::min(tables.num_blocks(), tables.num_devices() / size);
  const int32_t count = std::min(tables.problem().num_stages.value_or(1 + Below(random, room)), room);
  std::vector<int32_t> devices = FirstNumbers(Index(tables.num_devices()));
  std::vector<std::vector<int32_t>> teams;
  while (static_cast<int32_t>(teams.size()) < count) {
    std::vector<int32_t> team = TakeTeam(tables, size, devices);
    if (team.empty()) break;
    teams.push_back(std::move(team));
  }
  return teams;
}

std::vector<std::vector<int32_t>> ChooseTeams(const PipelineTables& tables, RandomStream& random) {
  // Whole nodes are hardly ever drawn by chance, and annealing hardly ever moves that many devices together.
  const bool has_nodes = !tables.fixed_replicas().has_value() && !tables.links_are_alike();
  if (has_nodes && random.Below(2) == 0) {
    std::vector<std::vector<int32_t>> nodes = TeamsOfNodes(tables, random);
    if (!nodes.empty()) return nodes;
  }
  std::vector<int32_t> devices = DeviceOrder(tables, random);
  const bool resizes = !tables.has_equal_replicas();
  int32_t replicas = ChooseReplicas(tables, random);
  const int32_t room = std::max(1, std::min(tables.num_blocks(), tables.num_devices() / replicas));
  const int32_t drawn = random.Below(2) == 0 ? room : 1 + Below(random, room);
  const int32_t count = std::min(tables.problem().num_stages.value_or(drawn), tables.num_blocks());
  std::vector<std::vector<int32_t>> teams;
  while (static_cast<int32_t>(teams.size()) < count) {
    if (resizes) replicas = 1 + Below(random, std::max(1, 2 * tables.num_devices() / count - 1));
    std::vector<int32_t> team = TakeTeam(tables, replicas, devices);
    if (team.empty() && resizes) team = TakeTeam(tables, 1, devices);
    if (team.empty()) break;
    teams.push_back(std::move(team));
  }
  return teams;
}

// What the blocks take on the first class that runs them.
int64_t WeightOf(const PipelineTables& tables, int32_t block) {
  for (int32_t device_class = 0; device_class < tables.num_classes(); ++device_class) {
    const PipelineTables::Times& times = tables.time(block, device_class);
    if (times.supported) return (times.forward + times.backward).count() + 1;
  }
  return 1;
}

}  // namespace

Pipeline RandomPipeline(const PipelineTables& tables, RandomStream& random) {
  const std::vector<int32_t> order = LinearOrder(tables, random);
  std::vector<std::vector<int32_t>> teams = ChooseTeams(tables, random);
  int64_t weight_left = 0;
  for (const int32_t block : order) weight_left += WeightOf(tables, block);
  auto devices_left = std::accumulate(teams.begin(), teams.end(), std::size_t{0},
                                      [](std::size_t sum, const auto& team) { return sum + team.size(); });
  Pipeline pipeline;
  std::size_t next = 0;
  for (std::size_t stage = 0; stage < teams.size(); ++stage) {
    PipelineStage& made = pipeline.stages.emplace_back();
    const double share = static_cast<double>(teams[stage].size()) / static_cast<double>(devices_left);
    const double aim = share * static_cast<double>(weight_left) * (0.7 + 0.6 * random.Unit());
    devices_left -= teams[stage].size();
    made.devices = std::move(teams[stage]);
    const bool is_last = stage + 1 == teams.size();
    int64_t weight = 0;
    // Every stage behind needs a block.
    while (next + (teams.size() - 1 - stage) < order.size()) {
      const int64_t more = WeightOf(tables, order[next]);
      const bool is_full = static_cast<double>(weight) + static_cast<double>(more) / 2 > aim;
      if (!is_last && is_full && !made.blocks.empty()) break;
      made.blocks.push_back(order[next++]);
      weight += more;
    }
    weight_left -= weight;
    std::sort(made.blocks.begin(), made.blocks.end());
    if (tables.orders_rings() && made.devices.size() > 1) {
      made.ring = made.devices;
      std::sort(made.ring.begin(), made.ring.end());
    }
  }
  return pipeline;
}

}  // namespace planwright
