// The contiguous throughput problem in the form that the dynamic programs work on (device-placement, Appendix B, as
// nets of blocks).
//
// Operators that must share a device are one *block*: colocation unions (forward_operator, colocation_group), merged
// along every cycle that contraction makes. A backward operator follows the forward operators of its union; an orphan
// (a union without forward operators) is a block of its own, and each backward tensor that touches an orphan orders the
// two blocks in reverse. A contiguous split is then a chain of ideals of the block graph, for inference and training.
//
// A *net* is the set of blocks that hold the producer and the consumers of a tensor. A device that pays for transfers
// pays the weight of every net that it holds partly. This is exact for host_staged and the pay-once lower bound for
// uniform (docs/cost-model.md section 4). On a hierarchy a net costs what it costs over the fastest level, a lower
// bound too.
//
// A *pool* is the set of devices of one class with the same usable memory.
#ifndef PLANWRIGHT_CORE_PARTITION_SEARCH_BLOCK_INSTANCE_H_
#define PLANWRIGHT_CORE_PARTITION_SEARCH_BLOCK_INSTANCE_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/ids.h"
#include "core/cost/terms/cost_table.h"
#include "core/graph/digraph.h"
#include "core/partition/search/device_pools.h"
#include "core/partition/search/load_rule.h"

namespace planwright {

struct Net {
  // Ascending, at least two.
  std::vector<int32_t> blocks;
  // Picoseconds that a paying device pays when it holds the net partly.
  int64_t weight = 0;
  // Bytes of transfer buffers, both directions (memory model COMPONENTS; 0 under DECLARED).
  int64_t buffer_bytes = 0;
  // The part of `weight` in the backward pass.
  int64_t backward_weight = 0;
  // The block that sends: its device pays for going out, others for coming in. kAnyProducer where that is the same
  // (unless FULL_DUPLEX).
  int32_t producer = kAnyProducer;
  // What the net costs more where it goes beyond the innermost groups of a hierarchy. Only of tensors whose sender is
  // before all readers in the pipeline, each block of these having a reader in the same pass, or that have two blocks,
  // so that the direction does not matter.
  int64_t far_surcharge = 0;

  static constexpr int32_t kAnyProducer = -1;
};

// A tensor with consumers in several other blocks, on an interconnect where its producer pays for each of them.
struct FanOut {
  int32_t producer = 0;
  // Blocks other than the producer's, ascending, at least two.
  std::vector<int32_t> consumers;
  // Picoseconds for each device that reads it.
  int64_t weight = 0;
};

struct BlockInstance {
  // Operators of each block, ascending; blocks are numbered in a depth-first topological order.
  std::vector<std::vector<OperatorId>> operators;
  // An edge for every pair of blocks whose order is fixed.
  Digraph precedence;
  std::vector<Net> nets;
  // Positions in `nets` of the nets of each block.
  std::vector<std::vector<int32_t>> nets_of;
  // Empty on interconnects where a device pays once (fan_out_dp.h).
  std::vector<FanOut> fan_outs;
  // Pools in order of their first device; those of accelerators first.
  std::vector<DevicePool> pools;
  UnitMemory memory;
  LoadRule rule;
  // Every device has a stage, or part in one; else some may stay idle. Only linearized_dp.h heeds it.
  bool uses_all_devices = false;
  // By block: bytes that replicas reduce. Empty unless LoadRule::ring.
  std::vector<int64_t> parameter_bytes;
  // The backward part of a net goes from its readers to its producer (GradientsFollowTensors).
  bool gradients_follow = false;

  // Devices that a stage on `pool` may have.
  int64_t max_replicas(std::size_t pool) const {
    return rule.replicates ? static_cast<int64_t>(pools[pool].devices.size()) : 1;
  }
  int32_t num_blocks() const { return static_cast<int32_t>(operators.size()); }
};

// Adds to `work` what a device pays for `net`, which it holds partly.
void AddCutNet(const BlockInstance& instance, const Net& net, bool holds_producer, MicroBatchWork& work);

// Which blocks without time join a neighbour (block_merging.h): those that provably may, more of them where memory does
// not bind, or none, for methods that look at blocks one by one.
enum class MergeRule { kExact, kIgnoreMemory, kNever };

// REQUIRES: graph, cluster and problem are valid and supported. O((operators + tensor ends) log + classes).
BlockInstance BuildBlockInstance(const PlanningInput& input, MergeRule merge_rule);

// Likewise for blocks that are given, whose order does not matter: `block_of` has a label 0, 1, ... or kDropped
// (operator_unions.h) for every operator. `precedence` stays empty.
BlockInstance AssembleUnordered(const PlanningInput& input, const std::vector<int32_t>& block_of);

// `instance`, built from the same values, with blocks of equal label as one. Blocks are numbered anew, as there.
// REQUIRES: a label 0, 1, ... for every block, between which the precedence has no cycle.
BlockInstance JoinBlocks(const PlanningInput& input, const BlockInstance& instance,
                         const std::vector<int32_t>& label_of);

// Whether the memory of a device of `pool` can be too small for any set of blocks.
bool MemoryCanBind(const BlockInstance& instance, const DevicePool& pool);

// Whether devices of one class are in several pools.
bool HasDividedClasses(const BlockInstance& instance);

// Joins the pools of each class, whose devices then have the memory of the largest of them: every
// placement that fits before fits after, at the same cost.
BlockInstance WithJoinedClasses(BlockInstance instance);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEARCH_BLOCK_INSTANCE_H_
