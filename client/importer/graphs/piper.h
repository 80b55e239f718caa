// The JSON of Piper (Tarnawski et al., Piper: Multidimensional Planner for DNN Parallelization, 2021, and its public
// code): nodes with costs for several degrees of tensor parallelism, edges, and a machine.
//
// Each tensor degree of "TMPCs" gives its variant "vanilla" and, where "activation recomp" is there as well, the
// difference of the two as the forward pass, which recomputation repeats. Without it a third of the time is forward.
// memoryUsageA is what a micro-batch in flight keeps, memoryUsageB what stays: parameters, gradients, and the rest as
// workspace. All degrees become variants of the operator, degree "1" its costs as well. syncTimeFw,
// by the node an edge comes from, and syncTimeBw, by the node it goes to, become their boundary exchanges, as Piper's
// code reads them (its README has them the other way round).
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_PIPER_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_PIPER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// Reads graph and cluster (accelerators of class kUnnamedClass, interconnect uniform). Operators are named by the
// ids of the nodes, whose names are their types. `ms_per_unit`: of timePerSample; nullopt: it is in
// seconds, as Piper's README has it. `warnings` gets what was assumed.
// Errors: INVALID_ARGUMENT with every violation ("nodes[3].TMPCs.1[0].timePerSample: must be a number, is "fast"").
// REQUIRES: OutlineOf(text) is OK.
absl::Status ReadPiperGraph(std::string_view text, std::string_view source, std::optional<double> ms_per_unit,
                            v1::CreatePlanRequest& request, std::vector<std::string>& warnings);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_PIPER_H_
