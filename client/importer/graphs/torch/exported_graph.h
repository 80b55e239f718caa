// A graph of torch.export, as its JSON has it, as one of the contract.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TORCH_EXPORTED_GRAPH_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TORCH_EXPORTED_GRAPH_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/library/error_details.h"
#include "planwright/v1/graph.pb.h"

namespace planwright::client {

// `module`: the field "graph_module" of an exported program. See exported_program.h; what is wrong is added to
// `violations`, and `graph` is of no use then.
void ReadExportedGraph(const nlohmann::json& module, const std::map<std::string, int64_t>& dimensions, v1::Graph& graph,
                       std::vector<std::string>& warnings, ViolationList& violations);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TORCH_EXPORTED_GRAPH_H_
