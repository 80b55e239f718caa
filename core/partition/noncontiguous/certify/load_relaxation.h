// The non-contiguous throughput problem, relaxed to what proofs of lower bounds work on.
//
// Groups of operators go to devices of two kinds. *Payers* are alike: each has the capacity T and pays, beside the
// times of its groups, the weight of every net that it holds partly. *Others* pay nothing and are one pool with one
// budget. Left out are memory, pins, differences between classes of payers (each group takes its least time on any of
// them) and what others would pay. Hence no placement that `evaluate` accepts has a smaller max load than the
// relaxation allows.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_LOAD_RELAXATION_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_LOAD_RELAXATION_H_

#include <cstdint>
#include <vector>

#include "core/partition/search/block_instance.h"

namespace planwright {

struct LoadRelaxation {
  // A time that no budget covers: the group cannot run there.
  static constexpr int64_t kNever = kMaxQuantity;

  int64_t num_payers = 0;
  int64_t num_others = 0;
  // By group: picoseconds.
  std::vector<int64_t> payer_time;
  std::vector<int64_t> other_time;
  // Over groups; at least two each, all of positive weight.
  std::vector<Net> nets;

  int32_t num_groups() const { return static_cast<int32_t>(payer_time.size()); }
};

// The relaxation of `blocks`, whose precedence and memory are ignored. Payers are the devices that pay and are not much
// slower than the fastest of these, so that CPUs on `uniform` do not count as accelerators. Without `with_nets` only
// times count. O(size of `blocks` x pools).
LoadRelaxation RelaxLoads(const BlockInstance& blocks, bool with_nets);

// The relaxation in which groups with the same label (0, 1, ...) are one. O(size log size).
LoadRelaxation ContractGroups(const LoadRelaxation& relaxation, const std::vector<int32_t>& label_of,
                              int32_t num_labels);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_LOAD_RELAXATION_H_
