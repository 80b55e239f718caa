// A mapping whose loads and ring times follow every move.
//
// Each traffic edge of each replica keeps its two transfer times. A move changes the times of the edges that it touches
// and adds up the loads of their ends anew, in the order of the traffic: so the loads are those of Evaluate to the last
// bit after any number of moves. Everything that a move overwrites is kept until the move is accepted or undone.
#ifndef PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_STATE_H_
#define PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_STATE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/mapping/problem/evaluation.h"
#include "core/mapping/problem/mapping_instance.h"
#include "core/mapping/problem/mapping_tables.h"

namespace planwright {

// For one thread. The tables outlive it. A vertex is a replica of a stage, as in StageReplicas.
class MappingState {
 public:
  static constexpr int32_t kNobody = -1;

  // REQUIRES: `mapping` is one of the instance.
  MappingState(const MappingTables& tables, const Mapping& mapping);

  const MappingTables& tables() const { return tables_; }
  DeviceId device(int32_t vertex) const { return device_[Index(vertex)]; }
  // kNobody: idle.
  int32_t vertex_on(DeviceId device) const { return vertex_on_[device.index()]; }
  int32_t stage_of(int32_t vertex) const { return replicas_.StageOf(Index(vertex)); }
  // What the objective counts of the replica apart from its all-reduce: its load; with kAllReduce its compute.
  double load(int32_t vertex) const { return load_[Index(vertex)]; }
  // Time of the all-reduce if all links of the ring were like the one from this replica to the next.
  // 0 without rings, and where the objective leaves them out.
  double ring_time(int32_t vertex) const { return ring_time_[Index(vertex)]; }
  int32_t next_on_ring(int32_t vertex) const { return Step(vertex, 1); }
  int32_t previous_on_ring(int32_t vertex) const { return Step(vertex, -1); }
  // Both directions of the traffic with the neighbour.
  double EdgeTime(const ReplicaNeighbour& neighbour) const;
  // What they would take from `here`, where the vertex is, to `there`.
  double EdgeTimeOver(const ReplicaNeighbour& neighbour, DeviceId here, DeviceId there) const;
  // What ring_time would be over this link.
  double RingTimeOver(int32_t stage, DeviceId from, DeviceId to) const;

  // Whether what is on the devices may change places; at most one of them is idle.
  bool MayExchange(DeviceId a, DeviceId b) const;
  // Moves what is on a to b and the other way round; loads where a stage must not be are infinite. REQUIRES: two
  // devices, not both idle. Complexity O(degrees of the neighbours).
  void Exchange(DeviceId a, DeviceId b);
  // Lets two replicas of a stage change both devices and places on the ring: the ring goes on over the same devices in
  // the same order, only the loads change. Complexity as Exchange.
  void ExchangeReplicas(int32_t a, int32_t b);
  // Turns the part of the ring from one replica to another around. REQUIRES: both of one stage.
  // Complexity O(replicas between them).
  void ReverseRing(int32_t first_vertex, int32_t last_vertex);

  // Vertices whose load, or ring time, may have changed since the last Accept or Undo; some more than once.
  const std::vector<int32_t>& changed_loads() const { return changed_loads_; }
  const std::vector<int32_t>& changed_rings() const { return changed_rings_; }
  void Accept();
  void Undo();

  Mapping ToMapping() const;

 private:
  struct EdgeTimes {
    double forward = 0;
    double backward = 0;
  };
  struct SavedEdge {
    std::size_t edge = 0;
    EdgeTimes times;
  };
  struct SavedTime {
    int32_t vertex = 0;
    double time = 0;
  };
  struct SavedPlace {
    int32_t vertex = 0;
    DeviceId device;
  };
  struct SavedRing {
    std::size_t position = 0;
    int32_t vertex = 0;
  };

  // Replicas of the stage of the vertex.
  int32_t RingSize(int32_t vertex) const { return replicas_.Of(stage_of(vertex)); }
  // Where the ring of its stage begins in ring_.
  std::size_t RingOf(int32_t vertex) const { return replicas_.BeforeStage(stage_of(vertex)); }
  int32_t Step(int32_t vertex, int32_t by) const;
  EdgeTimes TimesOf(const StageTraffic& traffic, DeviceId from, DeviceId to) const;
  double LoadOf(int32_t vertex) const;
  double RingTimeOf(int32_t vertex) const;
  void Put(int32_t vertex, DeviceId device);
  void RefreshEdges(int32_t vertex);
  void RefreshLoad(int32_t vertex);
  void RefreshRing(int32_t vertex);
  void PlaceOnRing(std::size_t position, int32_t vertex);
  void PutOnRing(std::size_t position, int32_t vertex);

  const MappingTables& tables_;
  const StageReplicas& replicas_;
  const bool counts_traffic_;
  const bool counts_rings_;
  std::vector<DeviceId> device_;
  std::vector<int32_t> vertex_on_;
  // Of pairs of replicas that meet, as ReplicaNeighbour numbers them; empty where traffic does not count.
  std::vector<EdgeTimes> edges_;
  std::vector<double> load_;
  // The vertices of each ring in its order, stage by stage, and the place of each vertex on its ring.
  std::vector<int32_t> ring_;
  std::vector<int32_t> place_;
  std::vector<double> ring_time_;
  // Overwritten since the last Accept or Undo, in order.
  std::vector<SavedPlace> saved_places_;
  std::vector<SavedEdge> saved_edges_;
  std::vector<SavedTime> saved_loads_;
  std::vector<SavedTime> saved_ring_times_;
  std::vector<SavedRing> saved_ring_;
  std::vector<int32_t> changed_loads_;
  std::vector<int32_t> changed_rings_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_STATE_H_
