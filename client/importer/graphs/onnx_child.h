// Models of ONNX, read by a process of its own (client/onnx): the library that parses them may crash on hostile files.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_ONNX_CHILD_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_ONNX_CHILD_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "planwright/v1/graph.pb.h"

namespace planwright::client {

// Reads `model` by the program planwright-onnx that stands beside this one, which has 1 GiB and four times the model of
// memory, and 120 s. `dimensions` binds symbols of its inputs. `warnings` gets what was assumed.
// Errors: INVALID_ARGUMENT: no model, one that takes more, or one that ends the reader; this build has none.
absl::Status ReadOnnxModel(std::string_view model, std::string_view source,
                           const std::map<std::string, int64_t>& dimensions, v1::Graph& graph,
                           std::vector<std::string>& warnings);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_ONNX_CHILD_H_
