// A model of ONNX as a graph of the contract.
#ifndef PLANWRIGHT_CLIENT_ONNX_ONNX_GRAPH_H_
#define PLANWRIGHT_CLIENT_ONNX_ONNX_GRAPH_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planwright/v1/graph.pb.h"

namespace planwright::onnx_reader {

// One operator for each node that depends on an input; what depends on initializers only is folded into parameters.
// Values between operators become tensors with the bytes of their inferred shapes. Times are left to the roofline:
// FLOPs and bytes of both passes are given, the backward pass of a product as twice its forward pass, of others as
// once. Operators have the names of their nodes, else type and number, and their layers (node_layer.h). Weights in
// files of their own are never opened.
//
// Local functions are inlined. Control flow is one operator each, without work, as are operators that libonnx does not
// know; `warnings` gets how many, and what else was assumed.
// Errors: INVALID_ARGUMENT: no node, a node whose input nothing makes, two makers of one value,
// functions that use themselves.
absl::StatusOr<v1::Graph> GraphOfModel(onnx::ModelProto& model, const std::map<std::string, int64_t>& dimensions,
                                       std::vector<std::string>& warnings);

}  // namespace planwright::onnx_reader

#endif  // PLANWRIGHT_CLIENT_ONNX_ONNX_GRAPH_H_
