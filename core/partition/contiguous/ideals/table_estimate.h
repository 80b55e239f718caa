// What the tables of a search may come to, before it begins.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEALS_TABLE_ESTIMATE_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEALS_TABLE_ESTIMATE_H_

#include <cstdint>

#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// An estimate of the bytes that the tables of all searches for one plan take together: those of the dynamic programs
// over ideals, of which there are at most as many as there are ways to cut each of the chains that the graph is covered
// by, one stretch between two operators that everything passes after the other; and what has a number for each operator
// or tensor and device. Most graphs that are no chains of blocks come to more than there is. The graph need not be
// valid. O(operators + edges log edges).
int64_t EstimateTableBytes(const OperatorGraph& graph, const Cluster& cluster, const SolverOptions& options);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEALS_TABLE_ESTIMATE_H_
