// Small models of ONNX for tests.
#ifndef PLANWRIGHT_TESTS_CLIENT_ONNX_ONNX_MODELS_H_
#define PLANWRIGHT_TESTS_CLIENT_ONNX_ONNX_MODELS_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <vector>

namespace planwright::onnx_reader {

inline onnx::ModelProto EmptyModel(int64_t opset = 13) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  onnx::OperatorSetIdProto& import = *model.add_opset_import();
  import.set_domain("");
  import.set_version(opset);
  model.mutable_graph()->set_name("g");
  return model;
}

// A dimension of -1 is the symbol "batch".
inline void AddInput(const std::string& name, const std::vector<int64_t>& dimensions, onnx::ModelProto& model) {
  onnx::ValueInfoProto& input = *model.mutable_graph()->add_input();
  input.set_name(name);
  onnx::TypeProto::Tensor& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  for (const int64_t dimension : dimensions) {
    auto& added = *type.mutable_shape()->add_dim();
    if (dimension == -1) {
      added.set_dim_param("batch");
    } else {
      added.set_dim_value(dimension);
    }
  }
}

// Its data may be in a file that is not there.
inline void AddWeights(const std::string& name, const std::vector<int64_t>& dimensions, onnx::ModelProto& model,
                       int32_t type = onnx::TensorProto::FLOAT) {
  onnx::TensorProto& weights = *model.mutable_graph()->add_initializer();
  weights.set_name(name);
  weights.set_data_type(type);
  for (const int64_t dimension : dimensions) weights.add_dims(dimension);
  weights.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto& location = *weights.add_external_data();
  location.set_key("location");
  location.set_value("/etc/shadow");
}

inline onnx::NodeProto& AddNode(const std::string& type, const std::string& name,
                                const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                                onnx::ModelProto& model) {
  onnx::NodeProto& node = *model.mutable_graph()->add_node();
  node.set_op_type(type);
  node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

// x [batch, 16] through a product with [16, 32] and a Relu.
inline onnx::ModelProto SmallModel() {
  onnx::ModelProto model = EmptyModel();
  AddInput("x", {-1, 16}, model);
  AddWeights("w", {16, 32}, model);
  AddNode("MatMul", "/model/layers.3/attn/MatMul", {"x", "w"}, {"y"}, model);
  AddNode("Relu", "", {"y"}, {"z"}, model);
  return model;
}

}  // namespace planwright::onnx_reader

#endif  // PLANWRIGHT_TESTS_CLIENT_ONNX_ONNX_MODELS_H_
