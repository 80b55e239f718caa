// The non-contiguous throughput problem in net form (device-placement 5.2).
//
// Operators that must share a device are one *group* (a block without order): colocation unions; for granularity LAYER
// also layers, merged along cycles, because a layer is one stage. Any assignment of groups to devices that respects
// support, memory, pins and bans is a placement: it can be cut into stages in topological order (virtual_devices.h).
//
// Two forms of the transfers stand side by side. `blocks.nets` is the pay-once form: a paying device pays at least the
// weight of every net that it holds partly, in any placement that `evaluate` accepts, in and out together. It is what
// bounds are made of. `charges` says exactly what is paid, and in which direction; the search works on it.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_INSTANCE_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_INSTANCE_H_

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/cost/terms/cost_table.h"
#include "core/model/problem.h"
#include "core/partition/search/block_instance.h"

namespace planwright {

// Tensors with the same groups (and, where it matters, the same producer).
struct NetCharge {
  static constexpr int32_t kAnyProducer = -1;

  // Ascending, at least two.
  std::vector<int32_t> groups;
  // kAnyProducer: every paying device that holds the net partly pays, the direction does not matter. Otherwise the
  // producer's device sends and every other one that holds the net partly receives; the sender pays once (pay_once) or
  // once for each of those devices.
  int32_t producer = kAnyProducer;
  // Picoseconds of tensors on their way. Those made in the backward pass count here too unless GPIPE tells the passes
  // apart.
  int64_t forward = 0;
  // Picoseconds of gradients from the receivers back to the sender, in the backward pass. Without direction and
  // without GPIPE they count as `forward`.
  int64_t gradient = 0;
  // GPIPE: picoseconds of tensors made in the backward pass. Without direction they count as `gradient`.
  int64_t late = 0;
  // Bytes of buffers on every device that holds the net partly, whether it pays or not.
  int64_t buffer_bytes = 0;
};

// A device, and what it can do.
struct NetDevice {
  DeviceId device;
  // Position in blocks.pools.
  std::size_t pool = 0;
  bool is_cpu = false;
  // How many times it keeps UnitMemory::linear.
  int64_t times_stored = 1;
};

struct NetInstance {
  // Groups with their times, memory and pay-once nets; no precedence. `supported` of its pools knows device classes
  // only, not pins and bans.
  BlockInstance blocks;
  std::vector<NetCharge> charges;
  bool pay_once = true;
  // By pool, in device order.
  std::vector<NetDevice> devices;
  // By group, then by position in `devices`: the class runs every operator of the group, no pin says otherwise, and no
  // operator is banned.
  std::vector<std::vector<bool>> may_run;
  // Some pin or ban excludes a device: the devices of a pool are not alike.
  bool has_pins = false;

  int32_t num_groups() const { return blocks.num_blocks(); }
  // What the work of a device means: overlap, phases, replication.
  const LoadRule& rule() const { return blocks.rule; }
};

// REQUIRES: graph, cluster and problem are valid and supported; host_staged or uniform.
// O((operators + tensor ends) log + groups x devices).
NetInstance BuildNetInstance(const PlanningInput& input);

// Likewise with the blocks of `blocks`, built from the same values, as groups, and without pins and bans. REQUIRES: the
// interconnect is host_staged or uniform.
NetInstance NetInstanceOf(const ResolvedInput& input, BlockInstance blocks);

// The instance in which groups with the same label (0, 1, ...) are one group: its placements are those of `instance`
// that keep them together, with the same loads and the same memory. Nets that fall into one group are gone, equal ones
// are merged. O(size of `instance` x log).
NetInstance ContractGroups(const NetInstance& instance, const std::vector<int32_t>& label_of);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_INSTANCE_H_
