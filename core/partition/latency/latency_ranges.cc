#include "core/partition/latency/latency_ranges.h"

#include <algorithm>

#include "core/base/index.h"
#include "core/partition/latency/subgraph_schedule.h"

namespace planwright {
namespace {

template <typename Visit>
void ForEachVertex(const LatencyInstance& instance, const LatencyBlock& block, const Visit& visit) {
  for (const int32_t group : block) {
    for (const int32_t vertex : instance.groups[Index(group)]) visit(vertex);
  }
}

}  // namespace

std::vector<Digraph::Edge> MirroredEdges(const LatencyInstance& instance, const std::vector<int32_t>& label_of) {
  std::vector<Digraph::Edge> edges;
  for (const auto& [from, to] : instance.precedence.edges()) {
    if (instance.pass[Index(from)] != instance.pass[Index(to)]) continue;
    const int32_t a = label_of[Index(from)];
    const int32_t b = label_of[Index(to)];
    if (instance.pass[Index(from)] == Pass::kForward) {
      edges.emplace_back(a, b);
    } else {
      edges.emplace_back(b, a);
    }
  }
  return edges;
}

std::vector<int32_t> BlockPositions(const LatencyInstance& instance, const std::vector<LatencyBlock>& blocks) {
  std::vector<int32_t> positions(instance.operators.size());
  for (std::size_t position = 0; position < blocks.size(); ++position) {
    ForEachVertex(instance, blocks[position],
                  [&](int32_t vertex) { positions[Index(vertex)] = static_cast<int32_t>(position); });
  }
  return positions;
}

int32_t FirstSlot(const LatencyInstance& instance, int32_t slots_per_pass, int32_t accelerator, Pass pass) {
  return (accelerator * instance.num_passes + (pass == Pass::kBackward ? 1 : 0)) * slots_per_pass;
}

void Place(const LatencyInstance& instance, int32_t slots_per_pass, const LatencyBlock& block, int32_t accelerator,
           LatencyAssignment& assignment) {
  ForEachVertex(instance, block, [&](int32_t vertex) {
    assignment.places[Index(vertex)] =
        accelerator == SubgraphSchedule::kCpu
            ? SubgraphSchedule::kCpu
            : FirstSlot(instance, slots_per_pass, accelerator, instance.pass[Index(vertex)]);
  });
}

bool MayBeOn(const LatencyInstance& instance, const LatencyBlock& block, int32_t accelerator) {
  return std::all_of(block.begin(), block.end(),
                     [&](int32_t group) { return instance.allowed[Index(group)][Index(accelerator)]; });
}

bool MayBeOnCpu(const LatencyInstance& instance, const LatencyBlock& block) {
  return std::all_of(block.begin(), block.end(), [&](int32_t group) { return instance.allowed_on_cpu[Index(group)]; });
}

int64_t CpuTime(const LatencyInstance& instance, const LatencyBlock& block) {
  int64_t time = 0;
  ForEachVertex(instance, block, [&](int32_t vertex) { time += instance.cpu_time[Index(vertex)]; });
  return time;
}

void RangeLoads::Add(const LatencyBlock& block, int32_t accelerator) {
  ForEachVertex(instance_, block, [&](int32_t vertex) {
    loads_.AddToSlot(vertex, FirstSlot(instance_, 1, accelerator, instance_.pass[Index(vertex)]));
  });
}

void RangeLoads::Remove(const LatencyBlock& block, int32_t accelerator) {
  ForEachVertex(instance_, block, [&](int32_t vertex) {
    loads_.RemoveFromSlot(vertex, FirstSlot(instance_, 1, accelerator, instance_.pass[Index(vertex)]), {});
  });
}

}  // namespace planwright
