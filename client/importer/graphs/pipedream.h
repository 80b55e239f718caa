// PipeDream's profiles, graph.txt (Narayanan et al., PipeDream, 2019, and its public code): a line for each node, a
// line for each edge.
//
//   node10 -- ReLU(inplace) -- forward_compute_time=2.513, backward_compute_time=2.620, activation_size=822083584.000,
//     parameter_size=0.000
//   <TAB>node6 -- node7
//
// Times are milliseconds of a mini-batch, sizes bytes. Taken as the 27 public files write them: numbers without
// decimals, blanks at the ends of lines, edges indented by blanks or not at all, edges before their nodes, lists of
// activations
// ("[1; 2]", added up). The optimizer's own output is read too: its " -- stage_id=K" says where an operator runs.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_PIPEDREAM_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_PIPEDREAM_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planwright/v1/graph.pb.h"
#include "planwright/v1/plan.pb.h"

namespace planwright::client {

// Reads operators named as the nodes are, with times of kUnnamedClass (class_times.h), and a tensor for each node that
// has edges. What an operator keeps for its backward pass are the outputs of the nodes before it. Nodes that are inputs
// of the model become type Input without time, as PipeDream's optimizer takes them: their time is that of loading data,
// which `warnings` gets.
// `ms_per_unit`: of the times; nullopt: milliseconds, which the format means.
// Errors: INVALID_ARGUMENT with every violation and its line.
absl::Status ReadPipeDreamGraph(std::string_view text, std::string_view source, std::optional<double> ms_per_unit,
                                v1::Graph& graph, std::vector<std::string>& warnings);

// Whether the nodes say which stage they are in.
bool HasPipeDreamStages(std::string_view text);

// The stages of the optimizer's output, without devices, in the order of their numbers; nodes that are inputs belong
// to stages like all others. Errors: INVALID_ARGUMENT with every violation and its line.
absl::StatusOr<v1::Plan> ReadPipeDreamStages(std::string_view text, std::string_view source);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_PIPEDREAM_H_
