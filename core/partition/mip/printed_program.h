// The integer program of throughput maximisation as the paper prints it: device-placement, Fig. 6, with the contiguity
// of Lemma 4.1 for contiguous splits, and without it for others (5.2).
//
// It is written from the graph itself, without the groups and nets of the compact form (throughput_program.h), and so
// an independent check of that form; solvers take longer for it. x_V_I: operator V is on device I (15); accelerators
// come first, then CPUs. CommIn_T_I and CommOut_T_I: accelerator I receives, sends tensor T (18, 19), in the place of
// node u of the paper, whose output it is. Load_I (20, 21) with backward times where the workload is training (5.3);
// z_V_I: operator V is before the end of the subgraph of device I, in its pass (11-13). Operators that share a device
// have equal x; those that a device cannot run, or that are kept from it, have x = 0.
//
// Contiguous subgraphs may need each other here (Definition 3.1), which no plan of this program does, so the optimum of
// this form is sometimes below the compact one's.
//
// Source: Tarnawski et al., Efficient algorithms for device placement of DNN graph operators, 2020, 5.1.3, 5.2, 5.3.
#ifndef PLANWRIGHT_CORE_PARTITION_MIP_PRINTED_PROGRAM_H_
#define PLANWRIGHT_CORE_PARTITION_MIP_PRINTED_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/cost/terms/cost_table.h"
#include "core/partition/mip/integer_program.h"

namespace planwright {

struct PrintedProgram {
  IntegerProgram program;
  // The devices of the columns: accelerators, then CPUs.
  std::vector<DeviceId> devices;
  // By operator, then position in `devices`: the column of the decision; empty for operators that take no part.
  std::vector<std::vector<int32_t>> place;
};

// The program of `problem`, times in `unit`. REQUIRES: valid and supported; MAX_THROUGHPUT on host_staged,
// SERIAL, DECLARED memory, granularity OPERATOR, no replication, not GPIPE, no selection of devices; unit > 0.
// O(devices x (operators + tensor ends)).
PrintedProgram BuildPrintedProgram(const PlanningInput& input, Picoseconds unit);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_MIP_PRINTED_PROGRAM_H_
