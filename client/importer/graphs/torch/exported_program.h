// Models of torch.export (.pt2) as graphs.
//
// A .pt2 is a zip archive: the model's JSON (models/NAME.json, of releases before 2.8 serialized_exported_program.json;
// schema torch._export.serde.schema, major version 8), weights, and pickles, which can run programs. Only the JSON is
// opened, and it is never taken for anything but text.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TORCH_EXPORTED_PROGRAM_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TORCH_EXPORTED_PROGRAM_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "planwright/v1/graph.pb.h"

namespace planwright::client {

// Reads the archive `bytes`: one operator for each node of ATen that depends on an input of the user's; what depends on
// parameters, buffers and constants only is folded into parameters, and what computes sizes only is left out. Operators
// have the names of their first values, and the layers of their modules (module_stack.h). FLOPs and bytes of both
// passes are given, the backward pass of a product as twice its forward pass, of others as once; times are left to the
// roofline. Control flow is one operator each. `dimensions` binds symbols of sizes ("s0"), which else have the
// exporter's hints. `warnings` gets what was assumed. Memory: forty times the model's JSON, which has at most 128 MiB.
// Errors: INVALID_ARGUMENT, with every violation and its path, for archives that are damaged, hold no model or several,
// and for models of another schema.
absl::Status ReadExportedProgram(std::string_view bytes, std::string_view source,
                                 const std::map<std::string, int64_t>& dimensions, v1::Graph& graph,
                                 std::vector<std::string>& warnings);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TORCH_EXPORTED_PROGRAM_H_
