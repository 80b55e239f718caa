// Which layer of the model a node belongs to.
#ifndef PLANWRIGHT_CLIENT_ONNX_NODE_LAYER_H_
#define PLANWRIGHT_CLIENT_ONNX_NODE_LAYER_H_

#include <onnx/onnx_pb.h>

#include <string>

namespace planwright::onnx_reader {

// The innermost scope with a number that the exporter noted in the node's metadata_props ("model.layers.3" of
// pkg.torch.onnx.name_scopes, or of namespace), else the part of the node's name that ends in a number ("layers.3" of
// "/model/layers.3/attn/MatMul"); empty: neither tells.
//
// libonnx 1.12 knows no metadata_props of nodes (field 9, since ONNX 1.16), so they are read from what it did not know.
std::string LayerOf(const onnx::NodeProto& node);

}  // namespace planwright::onnx_reader

#endif  // PLANWRIGHT_CLIENT_ONNX_NODE_LAYER_H_
