// An assignment of the vertices of a latency instance to subgraphs and CPUs that is changed vertex by vertex, with the
// schedule that it stands for.
//
// A *slot* is a place for one subgraph: (accelerator, pass, number below `slots_per_pass`). An empty slot is no
// subgraph. The slots of an accelerator run in the order of its *sequence*; a vertex that is in no slot is on the CPUs.
//
// The *quotient* has a unit for every non-empty slot and for every vertex on the CPUs, the precedence edges between
// different units, and an edge from every non-empty slot to the next of its accelerator. The assignment has a schedule
// exactly when the quotient has no cycle: a cycle would make a unit wait for itself; without one the units can start in
// any topological order, each when its predecessors have ended, which is also the earliest schedule. That covers
// contiguity: a path that leaves a subgraph and comes back is a cycle.
//
// The quotient is kept as counts of edges between slots and lists of edges at vertices on the CPUs. Moving a vertex
// costs O(its tensors + its edges), Latency() O(non-empty slots x slots / 64 + edges between slots + edges at vertices
// on the CPUs): while few vertices are on the CPUs, much less than the size of the graph.
#ifndef PLANWRIGHT_CORE_PARTITION_LATENCY_SUBGRAPH_SCHEDULE_H_
#define PLANWRIGHT_CORE_PARTITION_LATENCY_SUBGRAPH_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "core/base/index.h"
#include "core/partition/latency/latency_instance.h"
#include "core/partition/latency/latency_loads.h"

namespace planwright {

// For one thread. `instance` outlives the object.
class SubgraphSchedule {
 public:
  // The place of the vertices on the CPUs.
  static constexpr int32_t kCpu = -1;
  // There is no schedule: the quotient has a cycle.
  static constexpr int64_t kCyclic = -1;

  // All vertices on the CPUs, whether they may be there or not. REQUIRES: slots_per_pass >= 1.
  SubgraphSchedule(const LatencyInstance& instance, int32_t slots_per_pass);

  // Bytes of the tables of one object, about.
  static int64_t BytesFor(const LatencyInstance& instance, int32_t slots_per_pass);

  int32_t num_slots() const { return num_slots_; }
  int32_t slots_per_pass() const { return slots_per_pass_; }
  int32_t SlotOf(int32_t accelerator, Pass pass, int32_t number) const {
    return (accelerator * instance_->num_passes + (pass == Pass::kBackward ? 1 : 0)) * slots_per_pass_ + number;
  }
  int32_t AcceleratorOf(int32_t slot) const { return slot / (instance_->num_passes * slots_per_pass_); }

  // A slot or kCpu.
  int32_t place(int32_t vertex) const { return place_[Index(vertex)]; }
  const std::vector<int32_t>& places() const { return place_; }
  // REQUIRES: `place` is kCpu or a slot of the vertex's pass.
  void Move(int32_t vertex, int32_t place);
  // Moves every vertex and sets every sequence. O(vertices + what moves cost).
  void Load(const std::vector<int32_t>& places, const std::vector<std::vector<int32_t>>& sequences);

  // Slots of each accelerator in the order in which they run.
  const std::vector<int32_t>& sequence(int32_t accelerator) const { return sequence_[Index(accelerator)]; }
  const std::vector<std::vector<int32_t>>& sequences() const { return sequence_; }
  // Exchanges two positions of a sequence.
  void SwapInSequence(int32_t accelerator, std::size_t first, std::size_t second);

  const LatencyLoads& loads() const { return loads_; }
  // Units of the quotient.
  std::size_t num_units() const { return used_slots_.size() + on_cpu_.size(); }

  // Time when the last vertex finishes, or kCyclic.
  int64_t Latency();
  // Units that the last call of Latency() could not start; 0: it found a schedule.
  int64_t num_stuck_units() const { return num_stuck_units_; }
  // Start of a non-empty slot. REQUIRES: the assignment has not changed since Latency() found a schedule.
  int64_t start(int32_t slot) const { return ready_[Index(slot)]; }
  // Non-empty slots by start, and where starts are equal in an order in which they can run. REQUIRES: as start().
  std::vector<int32_t> SlotsByStart() const;
  // When the vertex finishes, likewise.
  int64_t finish(int32_t vertex) const;

 private:
  // Position of the count of edges between two slots.
  std::size_t Link(int32_t from_slot, int32_t to_slot) const {
    return Index(from_slot) * Index(num_slots_) + Index(to_slot);
  }

  void NumberEdges();
  void SetPlace(int32_t vertex, int32_t place);
  void SetUsed(int32_t slot, bool used);
  void SetOnCpu(int32_t vertex, bool on_cpu);
  void Connect(int32_t edge);
  void Disconnect(int32_t edge);

  void CountWaits();
  void StartSlot(int32_t slot);
  void StartOnCpu(int32_t vertex);
  void ReleaseSlot(int32_t slot, int64_t time);
  void ReleaseOnCpu(int32_t vertex, int64_t time);

  const LatencyInstance* instance_;
  int32_t slots_per_pass_;
  int32_t num_slots_;
  std::size_t words_per_slot_;
  LatencyLoads loads_;

  std::vector<int32_t> place_;
  std::vector<std::vector<int32_t>> sequence_;

  // Edge e of the precedence graph goes from edge_from_[e] to edge_to_[e]. The edges that leave vertex v are
  // first_out_[v] .. first_out_[v + 1] - 1, those that enter it in_edges_[first_in_[v] .. first_in_[v + 1] - 1].
  std::vector<int32_t> edge_from_;
  std::vector<int32_t> edge_to_;
  std::vector<int32_t> first_out_;
  std::vector<int32_t> in_edges_;
  std::vector<int32_t> first_in_;

  // Between slots: number of edges, a row per slot; the slots that come after each slot, as bits; how many come before.
  std::vector<int32_t> links_;
  std::vector<uint64_t> successors_;
  std::vector<int32_t> num_predecessors_;
  // Edges from each slot to vertices on the CPUs and where each is in its list; numbers of edges in reverse.
  std::vector<std::vector<int32_t>> edges_to_cpu_;
  std::vector<int32_t> edge_position_;
  std::vector<int32_t> num_edges_from_cpu_;
  // Vertices on the CPUs and non-empty slots, and where each is in its list.
  std::vector<int32_t> on_cpu_;
  std::vector<int32_t> cpu_position_;
  std::vector<int32_t> used_slots_;
  std::vector<int32_t> used_position_;

  // What the last call of Latency() left. By slot: when it may start, the units that it waits for, the next one of its
  // accelerator (kCpu: none); likewise by vertex on the CPUs.
  std::vector<int64_t> ready_;
  std::vector<int32_t> waits_;
  std::vector<int32_t> next_of_accelerator_;
  std::vector<int64_t> cpu_ready_;
  std::vector<int32_t> cpu_waits_;
  // Units that may start: slots, and vertex v on the CPUs as num_slots_ + v.
  std::vector<int32_t> startable_;
  // Slots in the order in which they were started.
  std::vector<int32_t> started_;
  int64_t latency_ = 0;
  int64_t num_stuck_units_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_LATENCY_SUBGRAPH_SCHEDULE_H_
