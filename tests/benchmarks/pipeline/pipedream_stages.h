// PipeDream's partition for a fixed number of stages with equally many replicas, as Parmesan's Table 1 compares with.
#ifndef PLANWRIGHT_TESTS_BENCHMARKS_PIPELINE_PIPEDREAM_STAGES_H_
#define PLANWRIGHT_TESTS_BENCHMARKS_PIPELINE_PIPEDREAM_STAGES_H_

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/cost/cost_table.h"
#include "core/model/chain.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright::benchmarks {

// The layers of the graph in a linear order, cut into `num_stages` consecutive groups so that the slowest stage or
// transfer, each by itself, takes least (Harlap et al., PipeDream, 2018, section 3.2, whose program this is for a given
// number of stages and replicas). Operators of each stage, ascending. `flat`: a cluster of one class, connected by a
// `uniform` interconnect. `costs`: of graph and `flat`. `problem` is resolved.
// REQUIRES: there are at least num_stages layers. O(stages x layers^2) beside making the chain.
std::vector<std::vector<OperatorId>> PipedreamStages(const OperatorGraph& graph, const Cluster& flat,
                                                     PlanningProblem problem, const CostTable& costs,
                                                     int32_t num_stages);

// The first layer of each stage. REQUIRES: as above.
std::vector<std::size_t> CutChain(const Chain& chain, int32_t num_stages);

}  // namespace planwright::benchmarks

#endif  // PLANWRIGHT_TESTS_BENCHMARKS_PIPELINE_PIPEDREAM_STAGES_H_
