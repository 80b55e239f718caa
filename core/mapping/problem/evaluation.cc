#include "core/mapping/problem/evaluation.h"

#include <algorithm>

namespace planwright {
namespace {

// What a stage counts where loads and all-reduces are taken stage by stage.
double StageValue(const MappingInstance& instance, const StageTimes& stage) {
  const double load = instance.load_weight * stage.load_ms;
  const double allreduce = instance.allreduce_weight * stage.allreduce_ms;
  switch (instance.objective) {
    case MappingObjective::kLoad:
    case MappingObjective::kLoadPlusLargestAllReduce:
      return load;
    case MappingObjective::kAllReduce:
      return instance.load_weight * stage.compute_ms + allreduce;
    case MappingObjective::kLoadAndAllReduce:
      return load + allreduce;
    case MappingObjective::kLargerOfBoth:
      return std::max(load, allreduce);
  }
  return 0;
}

}  // namespace

double MappedWork::LoadMs(Overlap overlap) const {
  switch (overlap) {
    case Overlap::kSerial:
      return compute_ms + in_ms + out_ms;
    case Overlap::kOverlapped:
      return std::max(compute_ms, in_ms + out_ms);
    case Overlap::kFullDuplex:
      return std::max({compute_ms, in_ms, out_ms});
  }
  return 0;
}

std::vector<MappedWork> WorkOfReplicas(const MappingInstance& instance, const LinkTimes& links,
                                       const Mapping& mapping) {
  std::vector<MappedWork> work(instance.num_vertices());
  for (std::size_t vertex = 0; vertex < work.size(); ++vertex) {
    work[vertex].compute_ms = instance.ComputeMs(instance.StageOf(vertex), mapping.devices[vertex]);
  }
  for (const StageTraffic& traffic : instance.traffic) {
    instance.replicas.ForEachMeeting(traffic.from, traffic.to, [&](std::size_t from, std::size_t to) {
      const DeviceId a = mapping.devices[from];
      const DeviceId b = mapping.devices[to];
      const double forward = links.Between(a, b).Of(traffic.forward_bytes, traffic.forward_transfers);
      const double backward = links.Between(b, a).Of(traffic.backward_bytes, traffic.backward_transfers);
      work[from].out_ms += forward;
      work[from].in_ms += backward;
      work[to].in_ms += forward;
      work[to].out_ms += backward;
    });
  }
  return work;
}

double AllReduceMs(const MappingInstance& instance, const LinkTimes& links, const Mapping& mapping, int32_t stage) {
  if (instance.replicas.Of(stage) < 2) return 0;
  const std::vector<int32_t>& ring = mapping.rings[Index(stage)];
  LinkTime slowest;
  int32_t last = ring.back();
  for (const int32_t replica : ring) {
    const LinkTime& link = links.Between(mapping.devices[instance.VertexOf(stage, last)],
                                         mapping.devices[instance.VertexOf(stage, replica)]);
    slowest.ms_per_byte = std::max(slowest.ms_per_byte, link.ms_per_byte);
    slowest.latency_ms = std::max(slowest.latency_ms, link.latency_ms);
    last = replica;
  }
  return slowest.Of(instance.allreduce_bytes[Index(stage)], instance.AllReduceHops(stage));
}

MappingValue ValueOf(const MappingInstance& instance, const std::vector<StageTimes>& stages) {
  MappingValue value;
  for (const StageTimes& stage : stages) {
    value.value_ms = std::max(value.value_ms, StageValue(instance, stage));
    value.largest_load_ms = std::max(value.largest_load_ms, stage.load_ms);
    value.largest_compute_ms = std::max(value.largest_compute_ms, stage.compute_ms);
    value.largest_allreduce_ms = std::max(value.largest_allreduce_ms, stage.allreduce_ms);
  }
  if (instance.objective == MappingObjective::kLoadPlusLargestAllReduce) {
    value.value_ms += instance.allreduce_weight * value.largest_allreduce_ms;
  }
  return value;
}

MappingValue Evaluate(const MappingInstance& instance, const LinkTimes& links, const Mapping& mapping) {
  const std::vector<MappedWork> work = WorkOfReplicas(instance, links, mapping);
  std::vector<StageTimes> stages(Index(instance.num_stages()));
  for (std::size_t vertex = 0; vertex < work.size(); ++vertex) {
    StageTimes& stage = stages[Index(instance.StageOf(vertex))];
    stage.compute_ms = std::max(stage.compute_ms, work[vertex].compute_ms);
    stage.load_ms = std::max(stage.load_ms, work[vertex].LoadMs(instance.overlap));
  }
  for (int32_t stage = 0; stage < instance.num_stages(); ++stage) {
    stages[Index(stage)].allreduce_ms = AllReduceMs(instance, links, mapping, stage);
  }
  return ValueOf(instance, stages);
}

MappingValue Evaluate(const MappingInstance& instance, const Mapping& mapping) {
  return Evaluate(instance, LinkTimes(instance.network, instance.num_devices()), mapping);
}

}  // namespace planwright
