#include "core/mapping/problem/mapping_instance.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/index.h"

namespace planwright {

StageReplicas::StageReplicas(std::vector<int32_t> of_stage) : of_stage_(std::move(of_stage)) {
  for (const int32_t replicas : of_stage_) {
    before_.push_back(vertices_.size());
    vertices_.resize(vertices_.size() + Index(replicas));
  }
  const int32_t most = of_stage_.empty() ? 0 : *std::ranges::max_element(of_stage_);
  for (int32_t replica = 0; replica < most; ++replica) {
    for (int32_t stage = 0; stage < num_stages(); ++stage) {
      if (replica >= Of(stage)) continue;
      vertices_[BeforeStage(stage) + Index(replica)] = stage_of_.size();
      stage_of_.push_back(stage);
      replica_of_.push_back(replica);
    }
  }
}

StageReplicas::StageReplicas(int32_t num_stages, int32_t of_each)
    : StageReplicas(std::vector<int32_t>(Index(num_stages), of_each)) {}

bool StageReplicas::are_equal() const {
  return std::ranges::adjacent_find(of_stage_, std::not_equal_to()) == of_stage_.end();
}

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
    rings.push_back(FirstNumbers(Index(instance.replicas.Of(stage))));
  }
  return rings;
}

MappingObjective ChooseObjective(const MappingInstance& instance) {
  if (!instance.HasRings()) return MappingObjective::kLoad;
  double ring_bytes = 0;
  for (const double bytes : instance.allreduce_bytes) ring_bytes += bytes;
  double traffic_bytes = 0;
  for (const StageTraffic& traffic : instance.traffic) traffic_bytes += traffic.forward_bytes + traffic.backward_bytes;
  return ring_bytes > traffic_bytes ? MappingObjective::kAllReduce : MappingObjective::kLoad;
}

}  // namespace planwright
