// The closed form of interleaved pipelines: what they take whose passes begin and end together, in slots.
//
// Chunk k of N = S v lies in stage k mod S. In the n-th slot of forward passes stage s does the n - s-th of its passes:
// chunks that follow each other, S of them, the first behind the last; a slot lasts as long as the longest. All
// backward passes do likewise from the other end. A pass depends on passes of slots before its own only, so no pipeline
// takes longer than its slots (docs/joint-search.md, section 2).
#ifndef PLANWRIGHT_CORE_JOINT_SLOTS_CHUNK_SLOTS_H_
#define PLANWRIGHT_CORE_JOINT_SLOTS_CHUNK_SLOTS_H_

#include <cstdint>
#include <span>

namespace planwright {

struct SlotShape {
  int64_t num_stages = 2;
  // How many each stage has.
  int64_t chunks = 2;
  int64_t micro_batches = 2;

  int64_t num_chunks() const { return num_stages * chunks; }
  // Of as many micro-batches as there are stages.
  int64_t groups() const { return micro_batches / num_stages; }
};

// What all slots take of passes of one kind, forward or backward. `passes`: by chunk in the order of the layers. Where
// the number of stages does not divide that of micro-batches, what is left over counts in proportion. Saturates at
// kMaxQuantity. O(chunks).
int64_t SlotsPs(std::span<const int64_t> passes, const SlotShape& shape);

// What no chunks take less (both kinds together) that work so much for a micro-batch in all and of which one works at
// least `longest_ps`. O(1). REQUIRES: as many micro-batches as stages, or a multiple of them.
int64_t LeastSlotsPs(int64_t work_ps, int64_t longest_ps, const SlotShape& shape);

// Passes of one kind where all chunks between the first and the last do as much, or a layer more.
struct EvenPasses {
  int64_t first_ps = 0;
  int64_t last_ps = 0;
  int64_t smaller_ps = 0;
  int64_t larger_ps = 0;
  // How many of the latter there are.
  int64_t num_larger = 0;
};

// SlotsPs where the larger chunks lie together and beside that of the ends which is longer, or less than in any order.
// O(1).
int64_t LeastEvenSlotsPs(const EvenPasses& passes, const SlotShape& shape);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SLOTS_CHUNK_SLOTS_H_
