// What the layers of a chain cost on one class of devices (docs/cost-model.md sections 7, 9 and 18).
#ifndef PLANWRIGHT_CORE_COST_CHAIN_CHAIN_COSTS_H_
#define PLANWRIGHT_CORE_COST_CHAIN_CHAIN_COSTS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/ids.h"
#include "core/base/index.h"
#include "core/base/units.h"
#include "core/cost/terms/cost_table.h"
#include "core/model/chain.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// The chain of `layers`, each a group of operators; together they hold every operator that the workload keeps, once.
//   times      sums over the operators. Recomputation FULL runs the forward pass again before the backward pass, whose
//              time includes it.
//   DECLARED   static: the sum of memory_bytes. Nothing else takes room.
//   COMPONENTS static: ParameterStateBytes (memory_form.h); workspace: the largest of an operator; buffers: 2 x bytes
//              of each tensor across the cut. Stored, for TRAINING only: activation_bytes. Recomputation FULL stores
//              what a stage starts from, i.e. what is alive before its first layer and what the Input operators of
//              that make; the workspace is that of the operator whose activations and workspace are the largest
//              together.
//   cuts       a tensor crosses every cut between its producer and the consumer furthest behind it on the way forward,
//              and every cut between its producer and the consumer furthest before it on the way back. What BACKWARD
//              operators make goes back, even where it is listed along its activation. It is one transfer on each; with
//              backward times instead of BACKWARD operators the same comes back as its gradient.
// `reserved_bytes` is not here: it is taken off the memory of the devices.
// REQUIRES: graph, cluster and problem are valid; the class supports every operator;
// host_staged or uniform. O(operators + tensor ends).
Chain MakeChain(const OperatorGraph& graph, const Interconnect& interconnect, const ResolvedProblem& problem,
                const CostTable& costs, DeviceClassId device_class, const std::vector<std::vector<OperatorId>>& layers);

// Sums over consecutive layers of a chain in constant time: what every search over stages asks for.
// Immutable, so any thread may ask. O(layers x log layers) to make and to keep. Everything below is about the layers
// first .. last; REQUIRES: 0 <= first <= last < num_layers().
class ChainSums {
 public:
  explicit ChainSums(const Chain& chain);

  int32_t num_layers() const { return static_cast<int32_t>(forward_.size()) - 1; }
  // Chain::has_backward.
  bool has_backward() const { return has_backward_; }

  Picoseconds forward(int32_t first, int32_t last) const { return forward_[Index(last) + 1] - forward_[Index(first)]; }
  Picoseconds backward(int32_t first, int32_t last) const {
    return backward_[Index(last) + 1] - backward_[Index(first)];
  }
  Picoseconds compute(int32_t first, int32_t last) const { return forward(first, last) + backward(first, last); }

  int64_t static_bytes(int32_t first, int32_t last) const {
    return static_bytes_[Index(last) + 1] - static_bytes_[Index(first)];
  }
  // What the layers store for each micro-batch as one stage.
  int64_t stored_bytes(int32_t first, int32_t last) const {
    return received_bytes_[Index(first)] + stored_bytes_[Index(last) + 1] - stored_bytes_[Index(first)];
  }
  // The largest workspace of a layer.
  int64_t workspace_bytes(int32_t first, int32_t last) const;

 private:
  // [i]: sum over the layers before i.
  std::vector<Picoseconds> forward_;
  std::vector<Picoseconds> backward_;
  std::vector<int64_t> static_bytes_;
  std::vector<int64_t> stored_bytes_;
  // [i]: what a stage that begins with layer i receives and keeps for each micro-batch.
  std::vector<int64_t> received_bytes_;
  // [k][i]: maximum over the 2^k layers from i on.
  std::vector<std::vector<int64_t>> workspace_bytes_;
  bool has_backward_;
};

// Memory of a stage: `fixed_bytes`, and `stored_bytes` for each of `batches` micro-batches. Saturates at the largest
// int64_t, as counts of micro-batches are not bounded. REQUIRES: all >= 0.
inline int64_t StageBytes(int64_t fixed_bytes, int64_t stored_bytes, int32_t batches) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  int64_t bytes = 0;
  if (__builtin_mul_overflow(stored_bytes, int64_t{batches}, &bytes)) return kLargest;
  return __builtin_add_overflow(bytes, fixed_bytes, &bytes) ? kLargest : bytes;
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_CHAIN_CHAIN_COSTS_H_
