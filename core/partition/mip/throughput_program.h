// The integer program of throughput maximisation in net form: device-placement, Fig. 6, made compact.
//
// One binary for each (group, device), one variable for each (net, device) that is 1 where the device holds
// the net partly, which stands for CommIn and CommOut at once. Devices of one
// pool are alike, so the i-th longest group goes to one of the first i of its pool (non-contiguous), or stages go along
// the devices of a pool in their order (contiguous). The upper bound on MaxLoad is what the solver's presolve feeds on:
// groups that take longer than that on a CPU are barred from CPUs, and so on.
//
// Contiguous programs carry the order of the stages in place of the paper's constraint (16): a device comes before
// another or after it, in one order of all devices, and no precedence goes backwards. This is narrower than the paper's
// definition of contiguity and the same as the dynamic program's (docs/cost-model.md section 8).
//
// Times are divided by a unit of the order of MaxLoad and memory by the size of each device, so that coefficients are
// of order 1. Source: Tarnawski et al., Efficient algorithms for device placement of DNN graph operators,
// 2020, 5.1.3, 5.2.
#ifndef PLANWRIGHT_CORE_PARTITION_MIP_THROUGHPUT_PROGRAM_H_
#define PLANWRIGHT_CORE_PARTITION_MIP_THROUGHPUT_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/cost/terms/cost_table.h"
#include "core/partition/mip/integer_program.h"
#include "core/partition/noncontiguous/net_instance.h"

namespace planwright {

struct ThroughputProgram {
  IntegerProgram program;
  // What 1 of the objective stands for.
  Picoseconds unit{1};
  // By group, then device of the instance: the column of the decision.
  std::vector<std::vector<int32_t>> place;
  // Contiguous: by device, then device: the column that says that the first comes before the second; -1 on the
  // diagonal.
  std::vector<std::vector<int32_t>> before;

  // Position in `devices` of every group. REQUIRES: a solution of the program.
  std::vector<int32_t> DeviceOf(const std::vector<double>& solution) const;
  // Devices in the order of the pipeline; contiguous only. REQUIRES: as above.
  std::vector<int32_t> DeviceOrder(const std::vector<double>& solution) const;
};

// The instance of contiguous splits: its blocks carry precedence, and no pins.
NetInstance ContiguousNetInstance(const PlanningInput& input);

// The program of `instance`; contiguous if its precedence edges are to be kept. No max load above `upper` is allowed;
// times are in `unit`.
// Transfers are pay-once: exact for host_staged under SERIAL and OVERLAPPED, else a relaxation.
// REQUIRES: upper, unit > 0. O(devices x (groups + ends of nets) + devices^2 x edges).
ThroughputProgram BuildThroughputProgram(const NetInstance& instance, bool is_contiguous, Picoseconds upper,
                                         Picoseconds unit);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_MIP_THROUGHPUT_PROGRAM_H_
