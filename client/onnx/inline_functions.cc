#include "client/onnx/inline_functions.h"

#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planwright::onnx_reader {
namespace {

class Inliner {
 public:
  explicit Inliner(const onnx::ModelProto& model) {
    for (const onnx::FunctionProto& function : model.functions()) {
      functions_.emplace(std::pair(function.domain(), function.name()), &function);
    }
  }

  absl::Status Add(const onnx::NodeProto& node, int depth, onnx::GraphProto& graph) {
    const auto function = functions_.find({node.domain(), node.op_type()});
    if (function == functions_.end()) {
      if (static_cast<std::size_t>(graph.node_size()) >= kMaxInlinedNodes) {
        return absl::InvalidArgumentError(absl::StrCat("local functions make more than ", kMaxInlinedNodes, " nodes"));
      }
      *graph.add_node() = node;
      return absl::OkStatus();
    }
    if (depth == kMaxFunctionDepth) {
      return absl::InvalidArgumentError(absl::StrCat("the local function \"", node.op_type(), "\" uses itself"));
    }
    return AddBody(node, *function->second, depth, graph);
  }

 private:
  // Names of values inside a function, as the use of it says them.
  using Names = std::unordered_map<std::string, std::string>;

  absl::Status AddBody(const onnx::NodeProto& use, const onnx::FunctionProto& function, int depth,
                       onnx::GraphProto& graph) {
    const std::string prefix = absl::StrCat(use.name().empty() ? function.name() : use.name(), "/");
    const std::string own = absl::StrCat(prefix, uses_++, ":");
    Names names;
    // What the use leaves out is absent inside as well.
    for (int i = 0; i < function.input_size(); ++i) {
      names[function.input(i)] = i < use.input_size() ? use.input(i) : "";
    }
    for (int i = 0; i < function.output_size(); ++i) {
      names[function.output(i)] =
          i < use.output_size() && !use.output(i).empty() ? use.output(i) : absl::StrCat(own, function.output(i));
    }
    for (const onnx::NodeProto& inner : function.node()) {
      onnx::NodeProto node = inner;
      if (!node.name().empty()) node.set_name(prefix + inner.name());
      for (std::string& input : *node.mutable_input()) Rename(own, names, input);
      for (std::string& output : *node.mutable_output()) Rename(own, names, output);
      RenameInBodies(own, names, node);
      // Those of the use speak of its own values.
      BindAttributes(use, node);
      const absl::Status status = Add(node, depth + 1, graph);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  static void Rename(const std::string& own, Names& names, std::string& value) {
    if (value.empty()) return;
    const auto [known, is_new] = names.try_emplace(value, absl::StrCat(own, value));
    value = known->second;
  }

  // Bodies of control flow read values of the function by name. What they make gets a name of its own as well, so that
  // it is not taken for one of the use.
  static void RenameInBodies(const std::string& own, const Names& names, onnx::NodeProto& node) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) RenameInBody(own, names, *attribute.mutable_g());
      for (onnx::GraphProto& body : *attribute.mutable_graphs()) RenameInBody(own, names, body);
    }
  }

  static void RenameInBody(const std::string& own, Names names, onnx::GraphProto& body) {
    const auto make = [&](std::string& value) {
      if (value.empty()) return;
      names.erase(value);
      Rename(own, names, value);
    };
    for (onnx::ValueInfoProto& input : *body.mutable_input()) make(*input.mutable_name());
    for (onnx::TensorProto& tensor : *body.mutable_initializer()) make(*tensor.mutable_name());
    for (onnx::SparseTensorProto& tensor : *body.mutable_sparse_initializer()) {
      make(*tensor.mutable_values()->mutable_name());
    }
    for (onnx::NodeProto& node : *body.mutable_node()) {
      for (std::string& input : *node.mutable_input()) Rename(own, names, input);
      RenameInBodies(own, names, node);
      for (std::string& output : *node.mutable_output()) make(output);
    }
    for (onnx::ValueInfoProto& output : *body.mutable_output()) Rename(own, names, *output.mutable_name());
  }

  // Attributes that refer to one of the use take its value; without one they are left out.
  static void BindAttributes(const onnx::NodeProto& use, onnx::NodeProto& node) {
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> bound;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.ref_attr_name().empty()) {
        *bound.Add() = attribute;
        continue;
      }
      for (const onnx::AttributeProto& given : use.attribute()) {
        if (given.name() != attribute.ref_attr_name()) continue;
        onnx::AttributeProto& copy = *bound.Add();
        copy = given;
        copy.set_name(attribute.name());
      }
    }
    *node.mutable_attribute() = std::move(bound);
  }

  std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*> functions_;
  int uses_ = 0;
};

}  // namespace

absl::Status InlineFunctions(onnx::ModelProto& model) {
  if (model.functions().empty()) return absl::OkStatus();
  Inliner inliner(model);
  onnx::GraphProto inlined;
  for (const onnx::NodeProto& node : model.graph().node()) {
    const absl::Status status = inliner.Add(node, 0, inlined);
    if (!status.ok()) return status;
  }
  *model.mutable_graph()->mutable_node() = std::move(*inlined.mutable_node());
  // Operator sets that only functions import.
  for (const onnx::FunctionProto& function : model.functions()) {
    for (const onnx::OperatorSetIdProto& opset : function.opset_import()) {
      bool is_known = false;
      for (const onnx::OperatorSetIdProto& known : model.opset_import()) is_known |= known.domain() == opset.domain();
      if (!is_known) *model.add_opset_import() = opset;
    }
  }
  model.clear_functions();
  return absl::OkStatus();
}

}  // namespace planwright::onnx_reader
