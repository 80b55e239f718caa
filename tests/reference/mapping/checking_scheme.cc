#include "tests/reference/mapping/checking_scheme.h"

#include <algorithm>
#include <cstdint>

#include "core/base/index.h"

namespace planwright {
namespace {

// Stages are placed in ascending order, so a load is known with the last neighbour of its stage.
void AddLoads(const MappingInstance& instance, CheckingScheme& scheme) {
  std::vector<int32_t> known_with(Index(instance.num_stages()));
  for (int32_t stage = 0; stage < instance.num_stages(); ++stage) known_with[Index(stage)] = stage;
  for (const StageTraffic& traffic : instance.traffic) {
    known_with[Index(traffic.from)] = std::max(known_with[Index(traffic.from)], traffic.to);
    known_with[Index(traffic.to)] = std::max(known_with[Index(traffic.to)], traffic.from);
  }
  for (int32_t replica = 0; replica < instance.replicas.Of(0); ++replica) {
    const std::size_t begin = scheme.order.size();
    scheme.loads.resize(begin + Index(instance.num_stages()));
    for (int32_t stage = 0; stage < instance.num_stages(); ++stage) {
      const std::size_t vertex = instance.VertexOf(stage, replica);
      scheme.order.push_back(vertex);
      scheme.loads[begin + Index(known_with[Index(stage)])].push_back(vertex);
    }
  }
  scheme.ring_edges.resize(scheme.order.size());
}

void AddRings(const MappingInstance& instance, CheckingScheme& scheme) {
  const int32_t last = instance.replicas.Of(0) - 1;
  for (int32_t stage = 0; stage < instance.num_stages(); ++stage) {
    for (int32_t replica = 0; replica <= last; ++replica) {
      scheme.order.push_back(instance.VertexOf(stage, replica));
      auto& edges = scheme.ring_edges.emplace_back();
      if (replica > 0) edges.emplace_back(instance.VertexOf(stage, replica - 1), scheme.order.back());
      if (replica > 0 && replica == last) edges.emplace_back(scheme.order.back(), instance.VertexOf(stage, 0));
    }
  }
  scheme.loads.resize(scheme.order.size());
}

}  // namespace

CheckingScheme MakeCheckingScheme(const MappingInstance& instance) {
  CheckingScheme scheme;
  if (instance.objective == MappingObjective::kLoad) {
    AddLoads(instance, scheme);
  } else {
    AddRings(instance, scheme);
  }
  return scheme;
}

}  // namespace planwright
