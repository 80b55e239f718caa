// Ranges of one linear order of blocks (latency_starts.h) as subgraphs: what the programs that cut the order share.
#ifndef PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_RANGES_H_
#define PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_RANGES_H_

#include <cstdint>
#include <vector>

#include "core/graph/digraph.h"
#include "core/partition/latency/latency_annealing.h"
#include "core/partition/latency/latency_instance.h"
#include "core/partition/latency/latency_loads.h"

namespace planwright {

// Groups that move together.
using LatencyBlock = std::vector<int32_t>;

// Edges between labels of vertices: forward edges, and backward edges in reverse.
std::vector<Digraph::Edge> MirroredEdges(const LatencyInstance& instance, const std::vector<int32_t>& label_of);

// By vertex: the position of its block in `blocks`.
std::vector<int32_t> BlockPositions(const LatencyInstance& instance, const std::vector<LatencyBlock>& blocks);

// The slot of an accelerator for `pass`, the first of its slots_per_pass.
int32_t FirstSlot(const LatencyInstance& instance, int32_t slots_per_pass, int32_t accelerator, Pass pass);

// Puts the groups of a block into the first slots of an accelerator, or on the CPUs.
void Place(const LatencyInstance& instance, int32_t slots_per_pass, const LatencyBlock& block, int32_t accelerator,
           LatencyAssignment& assignment);

bool MayBeOn(const LatencyInstance& instance, const LatencyBlock& block, int32_t accelerator);
bool MayBeOnCpu(const LatencyInstance& instance, const LatencyBlock& block);

// Time of a block on the CPUs when its vertices run one after the other.
int64_t CpuTime(const LatencyInstance& instance, const LatencyBlock& block);

// Keeps the load of one accelerator after the other while blocks are added: one slot for each pass.
class RangeLoads {
 public:
  explicit RangeLoads(const LatencyInstance& instance) : instance_(instance), loads_(instance, instance.num_passes) {}

  void Add(const LatencyBlock& block, int32_t accelerator);
  // The slots of the accelerator hold nothing afterwards.
  void Remove(const LatencyBlock& block, int32_t accelerator);
  bool Fits(int32_t accelerator) const { return loads_.MissingBytes(accelerator) == 0; }
  int64_t total_duration() const { return loads_.total_duration(); }

 private:
  const LatencyInstance& instance_;
  LatencyLoads loads_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_RANGES_H_
