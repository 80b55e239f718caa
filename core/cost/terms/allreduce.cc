#include "core/cost/terms/allreduce.h"

#include "core/base/known.h"

namespace planwright {

LinkSpeed RingSpeed(const Network& network, const std::vector<DeviceId>& ring) {
  LinkSpeed slowest = network.speed(network.LinkClassOf(ring.back(), ring.front()));
  for (std::size_t i = 1; i < ring.size(); ++i) {
    slowest = Slower(slowest, network.speed(network.LinkClassOf(ring[i - 1], ring[i])));
  }
  return slowest;
}

int64_t ParameterBytes(const OperatorGraph& graph, const std::vector<OperatorId>& operators) {
  int64_t bytes = 0;
  for (const OperatorId op : operators) bytes += graph.operators[op.index()].parameter_bytes;
  return bytes;
}

Picoseconds AllReduceTime(int64_t parameter_bytes, int32_t replicas, const LinkSpeed& speed, AllReduce::Factor factor) {
  if (replicas == 1) return Picoseconds(0);
  const int64_t steps = 2 * (int64_t{replicas} - 1);
  const int64_t chunks = factor == AllReduce::Factor::kRing ? steps : steps / 2;
  const Picoseconds time = TransferTime(parameter_bytes, chunks, replicas, Known(speed.bandwidth_bytes_per_second));
  return Picoseconds(SaturatingAdd(time.count(), SaturatingMultiply(steps, speed.latency.count())));
}

}  // namespace planwright
