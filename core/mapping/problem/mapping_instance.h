// The device mapping problem: replicas of stages to devices.
//
// Source: Parmesan: Efficient Partitioning and Mapping Flow for DNN Training on General Device Topology, section 5.
// Beyond the paper: stage times depend on the kind of device, links have latency and may be asymmetric, transfers may
// overlap with compute, the order of each all-reduce ring is part of the answer, and devices may stay idle.
#ifndef PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_INSTANCE_H_
#define PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_INSTANCE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/index.h"
#include "core/cost/terms/transfer.h"
#include "core/model/problem.h"

namespace planwright {

// What a replica of one stage exchanges with the same replica of another for one micro-batch. Each transfer pays the
// latency of the link once.
struct StageTraffic {
  int32_t from = 0;
  int32_t to = 0;
  double forward_bytes = 0;
  // From `to` back to `from`.
  double backward_bytes = 0;
  int32_t forward_transfers = 0;
  int32_t backward_transfers = 0;
};

// What is minimised. Load of a stage: the largest of its replicas. Each load and each all-reduce is weighted first.
enum class MappingObjective {
  // The largest load: equation (6).
  kLoad,
  // The largest of compute + all-reduce of a stage: equation (7).
  kAllReduce,
  // The largest of load + all-reduce of a stage: the sum that the paper splits into (6) and (7).
  kLoadAndAllReduce,
  // The largest load or all-reduce.
  kLargerOfBoth,
  // The largest load + the largest all-reduce.
  kLoadPlusLargestAllReduce,
};

// Times are milliseconds and sizes bytes, in doubles: the search compares them, core/cost rounds what is answered.
struct MappingInstance {
  int32_t num_stages = 0;
  // How many each stage has. Replica r of a stage talks to replica r of the others.
  int32_t num_replicas = 1;
  // By device. Devices of a kind are alike but for their links; -1: takes no part. More devices than replicas may be
  // there; the others stay idle.
  std::vector<int32_t> device_kind = {};
  int32_t num_kinds = 1;
  // The time of stage s on kind k at s * num_kinds + k. Infinity: the stage must not be there.
  std::vector<double> compute_ms = {};
  // At most one for each unordered pair of stages.
  std::vector<StageTraffic> traffic = {};
  // By stage: what crosses each edge of its ring, 2 (R - 1) / R times its parameters.
  std::vector<double> allreduce_bytes = {};
  // How often an all-reduce pays the latency of its ring.
  int32_t allreduce_hops = 0;
  // Load of a replica: SERIAL compute + in + out, OVERLAPPED max(compute, in + out), FULL_DUPLEX max(compute, in, out).
  Overlap overlap = Overlap::kSerial;
  MappingObjective objective = MappingObjective::kLoad;
  // Weights of every load (with kAllReduce: of compute) and of every all-reduce in the objective. REQUIRES: > 0.
  double load_weight = 1;
  double allreduce_weight = 1;
  // False: each ring runs over its replicas in ascending order.
  bool free_ring_order = true;
  Network network;

  std::size_t num_devices() const { return device_kind.size(); }
  // Replicas of all stages.
  std::size_t num_vertices() const { return Index(num_stages) * Index(num_replicas); }
  // Replica r of stage s.
  std::size_t VertexOf(int32_t stage, int32_t replica) const {
    return Index(replica) * Index(num_stages) + Index(stage);
  }
  bool TakesPart(DeviceId device) const { return device_kind[device.index()] >= 0; }
  // REQUIRES: the device takes part.
  double ComputeMs(int32_t stage, DeviceId device) const {
    return compute_ms[Index(stage) * Index(num_kinds) + Index(device_kind[device.index()])];
  }
  bool HasRings() const { return num_replicas > 1; }
  // What the objective depends on.
  bool CountsRings() const { return HasRings() && objective != MappingObjective::kLoad; }
  bool CountsTraffic() const { return objective != MappingObjective::kAllReduce; }
};

struct Mapping {
  // The device of replica r of stage s at r * S + s; no device twice.
  std::vector<DeviceId> devices = {};
  // By stage: its replicas in the order of the ring, which runs from each to the next and from the last to the first.
  // Empty without replicas.
  std::vector<std::vector<int32_t>> rings = {};

  bool operator==(const Mapping&) const = default;
};

// Rings over the replicas in ascending order.
std::vector<std::vector<int32_t>> RingsInReplicaOrder(const MappingInstance& instance);

// Every replica is on a device of its own that its stage may be on, and every ring visits each replica once (in
// ascending order unless free_ring_order).
bool IsMapping(const MappingInstance& instance, const Mapping& mapping);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_INSTANCE_H_
