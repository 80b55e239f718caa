// Pipelines along linear orders: of the operators, and of the devices.
//
// The floor under every search for contiguous stages: in any mode and on any interconnect it is quick, knows the true
// links between neighbours and the memory that a stage needs at its place in the pipeline. A few orders of the
// operators (unit_orders.h) and of the devices (device_sequences.h) go through the program of sequence_program.h; what
// it finds is costed as it is. Then orders are varied at random as long as the work lasts, and kept where they are no
// worse.
//
// Source: ours; see sequence_program.h.
#ifndef PLANWRIGHT_CORE_PARTITION_SEQUENCE_SEQUENCE_SEARCH_H_
#define PLANWRIGHT_CORE_PARTITION_SEQUENCE_SEQUENCE_SEARCH_H_

#include "core/partition/search/algorithm_row.h"
#include "core/partition/search/search.h"

namespace planwright {

// Algorithm kSequenceDp: MAX_THROUGHPUT, CONTIGUOUS, any interconnect, overlap and replication, with or without a
// number of micro-batches; pins and bans, numbers of stages and replicas, request.device_limits. Asks
// callbacks.objection before it keeps a placement. Work: stages looked at with one way to go on behind each. Its bound,
// of scope PROBLEM, is the work of all devices together. The same outcome for any arena unless the clock or a stop
// request ends it.
absl::StatusOr<SearchOutcome> SolveAlongSequences(const SearchRequest& request, const SolveLimits& limits,
                                                  TaskArena& arena, const SearchCallbacks& callbacks);

AlgorithmRow SequenceDpRow();

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEQUENCE_SEQUENCE_SEARCH_H_
