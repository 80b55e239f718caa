#include "core/mapping/problem/mapping_instance.h"

#include <numeric>

namespace planwright {

std::vector<std::vector<ReplicaNeighbour>> NeighboursOf(const MappingInstance& instance) {
  std::vector<std::vector<ReplicaNeighbour>> neighbours(instance.num_vertices());
  int32_t edge = 0;
  for (std::size_t i = 0; i < instance.traffic.size(); ++i) {
    const auto traffic = static_cast<int32_t>(i);
    instance.replicas.ForEachMeeting(
        instance.traffic[i].from, instance.traffic[i].to, [&](std::size_t a, std::size_t b) {
          neighbours[a].push_back({traffic, edge, static_cast<int32_t>(b), /*sends_forward=*/true});
          neighbours[b].push_back({traffic, edge, static_cast<int32_t>(a), /*sends_forward=*/false});
          ++edge;
        });
  }
  return neighbours;
}

std::vector<std::vector<int32_t>> RingsInReplicaOrder(const MappingInstance& instance) {
  std::vector<std::vector<int32_t>> rings;
  if (!instance.HasRings()) return rings;
  for (int32_t stage = 0; stage < instance.num_stages(); ++stage) {
    std::vector<int32_t>& ring = rings.emplace_back(Index(instance.replicas.Of(stage)));
    std::iota(ring.begin(), ring.end(), 0);
  }
  return rings;
}

}  // namespace planwright
