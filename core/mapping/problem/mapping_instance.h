// The device mapping problem: replicas of stages to devices.
//
// Source: Parmesan: Efficient Partitioning and Mapping Flow for DNN Training on General Device Topology, section 5.
// Beyond the paper: stage times depend on the kind of device, links have latency and may be asymmetric, transfers may
// overlap with compute, the order of each all-reduce ring is part of the answer, and devices may stay idle.
#ifndef PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_INSTANCE_H_
#define PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_INSTANCE_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/ids.h"
#include "core/base/index.h"
#include "core/cost/terms/transfer.h"
#include "core/model/problem.h"

namespace planwright {

// How many replicas each stage has. A vertex is a replica of a stage; vertices are numbered replica by replica, and of
// each replica by stage.
//
// Micro-batch n runs on replica n mod R of a stage, so replicas r and q of two stages with R and Q replicas meet where
// r and q are equal modulo gcd(R, Q), in one micro-batch out of lcm(R, Q) (docs/cost-model.md sections 14 and 15). With
// equal numbers they pair off.
class StageReplicas {
 public:
  StageReplicas() = default;
  // By stage. REQUIRES: each at least 1.
  explicit StageReplicas(std::vector<int32_t> of_stage);
  // Of each stage equally many.
  StageReplicas(int32_t num_stages, int32_t of_each);

  int32_t num_stages() const { return static_cast<int32_t>(of_stage_.size()); }
  std::size_t num_vertices() const { return stage_of_.size(); }
  int32_t Of(int32_t stage) const { return of_stage_[Index(stage)]; }
  bool are_equal() const;
  // Replicas of the stages before this one.
  std::size_t BeforeStage(int32_t stage) const { return before_[Index(stage)]; }
  std::size_t VertexOf(int32_t stage, int32_t replica) const { return vertices_[BeforeStage(stage) + Index(replica)]; }
  int32_t StageOf(std::size_t vertex) const { return stage_of_[vertex]; }
  int32_t ReplicaOf(std::size_t vertex) const { return replica_of_[vertex]; }

  // Calls visit(vertex of a, vertex of b) for all replicas of the two stages that meet.
  template <typename Visit>
  void ForEachMeeting(int32_t a, int32_t b, Visit visit) const {
    const int32_t common = std::gcd(Of(a), Of(b));
    for (int32_t replica = 0; replica < Of(a); ++replica) {
      for (int32_t other = replica % common; other < Of(b); other += common) {
        visit(VertexOf(a, replica), VertexOf(b, other));
      }
    }
  }

 private:
  std::vector<int32_t> of_stage_;
  std::vector<std::size_t> before_;
  // Stage by stage.
  std::vector<std::size_t> vertices_;
  // By vertex.
  std::vector<int32_t> stage_of_;
  std::vector<int32_t> replica_of_;
};

// What a replica of one stage exchanges with each replica of another that it meets for one micro-batch. Each transfer
// pays the latency of the link once.
struct StageTraffic {
  int32_t from = 0;
  int32_t to = 0;
  double forward_bytes = 0;
  // From `to` back to `from`.
  double backward_bytes = 0;
  double forward_transfers = 0;
  double backward_transfers = 0;
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
  StageReplicas replicas = {};
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
  // By stage: how often its all-reduce pays the latency of its ring. Empty: never.
  std::vector<double> allreduce_hops = {};
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
  int32_t num_stages() const { return replicas.num_stages(); }
  std::size_t num_vertices() const { return replicas.num_vertices(); }
  std::size_t VertexOf(int32_t stage, int32_t replica) const { return replicas.VertexOf(stage, replica); }
  int32_t StageOf(std::size_t vertex) const { return replicas.StageOf(vertex); }
  bool TakesPart(DeviceId device) const { return device_kind[device.index()] >= 0; }
  // REQUIRES: the device takes part.
  double ComputeMs(int32_t stage, DeviceId device) const {
    return compute_ms[Index(stage) * Index(num_kinds) + Index(device_kind[device.index()])];
  }
  double AllReduceHops(int32_t stage) const { return allreduce_hops.empty() ? 0 : allreduce_hops[Index(stage)]; }
  // Whether some stage has several replicas.
  bool HasRings() const { return num_vertices() > Index(num_stages()); }
  // What the objective depends on.
  bool CountsRings() const { return HasRings() && objective != MappingObjective::kLoad; }
  bool CountsTraffic() const { return objective != MappingObjective::kAllReduce; }
};

// What a replica has to do with one that it meets.
struct ReplicaNeighbour {
  // Position in MappingInstance::traffic.
  int32_t traffic = 0;
  // The pair of replicas among all that meet; the other end has the same number.
  int32_t edge = 0;
  // The one that it meets.
  int32_t vertex = 0;
  // The replica itself is one of the stage `from`.
  bool sends_forward = false;
};

// By vertex, ascending by traffic.
std::vector<std::vector<ReplicaNeighbour>> NeighboursOf(const MappingInstance& instance);

// Every replica is on a device of its own that its stage may be on, and every ring visits each replica once (in
// ascending order unless free_ring_order).
struct Mapping {
  // By vertex; no device twice.
  std::vector<DeviceId> devices = {};
  // By stage: its replicas in the order of the ring, which runs from each to the next and from the last to the first.
  // Empty without replicas.
  std::vector<std::vector<int32_t>> rings = {};

  bool operator==(const Mapping&) const = default;
};

// Rings over the replicas in ascending order.
std::vector<std::vector<int32_t>> RingsInReplicaOrder(const MappingInstance& instance);

// kAllReduce where the rings carry more bytes than the stages exchange (ratio > 1), else kLoad: end of section 5.2 of
// the paper. Every replica has as many edges of its ring as of its traffic counted, so replicas cancel out.
MappingObjective ChooseObjective(const MappingInstance& instance);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_INSTANCE_H_
