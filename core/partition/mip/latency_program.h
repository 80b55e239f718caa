// The integer program of latency minimisation: device-placement, Fig. 3, and Fig. 4 for several subgraphs (4.1).
//
// A *slot* is a place for one subgraph of one pass; an accelerator has `slots_per_pass` of them for each pass. As in
// the paper: x says where a vertex is, CommIn and CommOut which tensors a slot receives and sends, SubgraphStart and
// SubgraphFinish when it runs, Latency when a vertex has finished, z that a vertex is before the end of a slot
// (contiguity, Lemma 4.1). Products with times are made linear with the upper bound on TotalLatency in the place of H.
//
// Different from the paper: q counts per pass, because Fig. 3 as printed cannot place forward and backward on one
// device; slots of different passes of one accelerator run in either order; what may not be torn apart is one column;
// accelerators that are alike are used in the order of the groups. Subgraphs that take no time at all may wait for each
// other here, so a solution is to be looked at again, and the bound holds in any case.
//
// Source: Tarnawski et al., Efficient algorithms for device placement of DNN graph operators, 2020, section 4.
#ifndef PLANWRIGHT_CORE_PARTITION_MIP_LATENCY_PROGRAM_H_
#define PLANWRIGHT_CORE_PARTITION_MIP_LATENCY_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/partition/latency/latency_instance.h"
#include "core/partition/mip/integer_program.h"

namespace planwright {

struct LatencyProgram {
  IntegerProgram program;
  // What 1 of the objective stands for.
  Picoseconds unit{1};
  int32_t slots_per_pass = 1;
  // By bundle, then slot: the column of the decision; -1 for slots of the other pass. The last one is the CPUs.
  std::vector<std::vector<int32_t>> place;
  // By slot: the column of its start, in units.
  std::vector<int32_t> start;

  // The slot of every vertex, slots numbered by (accelerator, pass, number); -1: on the CPUs.
  // REQUIRES: a solution of the program.
  std::vector<int32_t> SlotOf(const LatencyInstance& instance, const std::vector<double>& solution) const;
  // Slots of every accelerator by their start, empty ones too.
  std::vector<std::vector<int32_t>> Sequences(const std::vector<double>& solution, int32_t num_accelerators) const;
};

// No latency above `upper` is allowed. REQUIRES: upper > 0, slots_per_pass >= 1.
// O(slots x (vertices + tensor ends + edges)) rows.
LatencyProgram BuildLatencyProgram(const LatencyInstance& instance, int32_t slots_per_pass, Picoseconds upper);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_MIP_LATENCY_PROGRAM_H_
