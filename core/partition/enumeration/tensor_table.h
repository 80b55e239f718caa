// The tensors that can cross between groups of operators, with their times over every class of links.
#ifndef PLANWRIGHT_CORE_PARTITION_ENUMERATION_TENSOR_TABLE_H_
#define PLANWRIGHT_CORE_PARTITION_ENUMERATION_TENSOR_TABLE_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/partition/search/search.h"

namespace planwright {

struct GroupTensor {
  // The producer and the readers are groups.
  int32_t producer = 0;
  // Ascending, without the producer; at least one.
  std::vector<int32_t> readers;
  Pass pass = Pass::kForward;
  int64_t size_bytes = 0;
  // By link class, and the least of them; empty and 0 where there are no two devices.
  std::vector<Picoseconds> times;
  Picoseconds least_time{0};
};

struct TensorTable {
  std::vector<GroupTensor> tensors;
  // By group, positions in `tensors`.
  std::vector<std::vector<int32_t>> of_group;
};

// `groups`: disjoint sets of the operators that take part.
TensorTable MakeTensorTable(const SearchRequest& request, const std::vector<std::vector<OperatorId>>& groups);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_ENUMERATION_TENSOR_TABLE_H_
