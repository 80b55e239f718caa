// Random block instances and what is true of them by the plainest means: sets of blocks as bit masks, every set tried.
#ifndef PLANWRIGHT_TESTS_CORE_PARTITION_BLOCK_ORACLE_H_
#define PLANWRIGHT_TESTS_CORE_PARTITION_BLOCK_ORACLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/partition/contiguous/block_split.h"
#include "core/partition/search/block_instance.h"

namespace planwright {

// Bit b: block b.
using BlockSet = uint64_t;

struct BlockInstanceShape {
  int32_t num_blocks = 7;
  double edge_probability = 0.3;
  // Blocks that a pool cannot run, and devices whose memory binds.
  bool constrained = false;
  // Largest time of a block and weight of a net.
  int64_t max_time = 20;
  // Overlap, passes with or without a cap on the forward one, replicas with or without gradients to reduce.
  bool any_rule = false;
};

// Blocks in a topological order with one operator each, one accelerator pool that pays and one or two more pools, of
// which one may be of CPUs that do not.
BlockInstance MakeBlockInstance(const BlockInstanceShape& shape, RandomStream& random);

// `num_blocks` blocks in order 0, 1, ... without edges, nets, memory or pools, to be filled by hand.
BlockInstance EmptyBlockInstance(int32_t num_blocks);
void AddEdges(BlockInstance& instance, std::vector<Digraph::Edge> edges);
void AddNet(BlockInstance& instance, const std::vector<int32_t>& blocks, int64_t weight, int64_t buffer_bytes = 0);
// A pool of paying devices that can run every block.
DevicePool& AddPool(BlockInstance& instance, int devices, const std::vector<int64_t>& times);

BlockSet FullSet(const BlockInstance& instance);
bool IsIdeal(const BlockInstance& instance, BlockSet set);
std::vector<BlockSet> AllIdeals(const BlockInstance& instance);

int64_t NaiveTime(const BlockInstance& instance, std::size_t pool, BlockSet set);
// Weight of the nets that lie partly in `set`.
int64_t NaiveBorder(const BlockInstance& instance, BlockSet set);
// What a device of `pool` would have to do for `set`, forward and backward.
struct NaiveWork {
  int64_t compute = 0;
  int64_t in = 0;
  int64_t out = 0;
};
NaiveWork NaiveForward(const BlockInstance& instance, std::size_t pool, BlockSet set);
NaiveWork NaiveBackward(const BlockInstance& instance, std::size_t pool, BlockSet set);
// By the load rule; LoadRule::kNone above the cap.
int64_t NaiveLoad(const BlockInstance& instance, std::size_t pool, BlockSet set, int64_t replicas = 1);
bool NaiveFits(const BlockInstance& instance, std::size_t pool, BlockSet set);

// The least max load of all contiguous splits; nullopt: there is none.
std::optional<int64_t> NaiveOptimum(const BlockInstance& instance);
// The least max load of the splits along `order`.
std::optional<int64_t> NaiveOptimumAlong(const BlockInstance& instance, const std::vector<int32_t>& order);

// What is wrong with `split`; "": it is a contiguous split that fits, and its max load is right.
std::string FaultOf(const BlockInstance& instance, const BlockSplit& split);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_PARTITION_BLOCK_ORACLE_H_
