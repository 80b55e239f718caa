#include "client/onnx/onnx_graph.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/onnx/inline_functions.h"
#include "client/onnx/model_shapes.h"
#include "client/onnx/node_layer.h"
#include "client/onnx/operator_work.h"
#include "core/text/utf8.h"

namespace planwright::onnx_reader {
namespace {

constexpr double kMaxBytes = 4611686018427387904.0;  // 2^62
constexpr std::size_t kMaxNameBytes = 240;

bool HasSubgraph(const onnx::NodeProto& node) {
  return std::any_of(node.attribute().begin(), node.attribute().end(), [](const onnx::AttributeProto& attribute) {
    return attribute.has_g() || attribute.graphs_size() > 0;
  });
}

void AppendCaptured(const onnx::GraphProto& body, std::vector<std::string>& read);

// What a node reads: its inputs, and what bodies of control flow read of the graphs around them.
std::vector<std::string> ReadBy(const onnx::NodeProto& node) {
  std::vector<std::string> read(node.input().begin(), node.input().end());
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) AppendCaptured(attribute.g(), read);
    for (const onnx::GraphProto& body : attribute.graphs()) AppendCaptured(body, read);
  }
  return read;
}

// Adds what `body` reads and does not make.
void AppendCaptured(const onnx::GraphProto& body, std::vector<std::string>& read) {
  std::set<std::string> made;
  for (const onnx::ValueInfoProto& input : body.input()) made.insert(input.name());
  for (const onnx::TensorProto& tensor : body.initializer()) made.insert(tensor.name());
  for (const onnx::SparseTensorProto& tensor : body.sparse_initializer()) made.insert(tensor.values().name());
  for (const onnx::NodeProto& node : body.node()) {
    for (std::string& value : ReadBy(node)) {
      if (!made.contains(value)) read.push_back(std::move(value));
    }
    made.insert(node.output().begin(), node.output().end());
  }
  for (const onnx::ValueInfoProto& output : body.output()) {
    if (!made.contains(output.name())) read.push_back(output.name());
  }
}

class GraphBuilder {
 public:
  GraphBuilder(onnx::ModelProto& model, const std::map<std::string, int64_t>& dimensions,
               std::vector<std::string>& warnings)
      : model_(model), warnings_(warnings), shapes_(InferValueShapes(dimensions, model, warnings)) {}

  absl::StatusOr<v1::Graph> Build() {
    if (model_.graph().node().empty()) return absl::InvalidArgumentError("the model has no node");
    for (const onnx::TensorProto& tensor : model_.graph().initializer()) constants_.insert(tensor.name());
    for (const onnx::ValueInfoProto& input : model_.graph().input()) {
      if (!constants_.contains(input.name())) known_.insert(input.name());
    }
    for (const onnx::NodeProto& node : model_.graph().node()) {
      const absl::Status status = AddNode(node);
      if (!status.ok()) return status;
    }
    AddTensors();
    Warn();
    if (graph_.operators().empty()) return absl::InvalidArgumentError("every node depends on constants only");
    SetSamples();
    return std::move(graph_);
  }

 private:
  double BytesOf(const std::string& value) {
    const auto shape = shapes_.find(value);
    if (shape == shapes_.end()) return 0;
    return static_cast<double>(ElementsOf(shape->second)) *
           static_cast<double>(ElementBytes(shape->second.element_type));
  }

  absl::Status AddNode(const onnx::NodeProto& node) {
    bool is_constant = true;
    for (const std::string& input : ReadBy(node)) {
      if (input.empty() || constants_.contains(input)) continue;
      is_constant = false;
      if (known_.contains(input)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("node \"", Named(node), "\" reads \"", input, "\", which nothing before it makes"));
    }
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      const bool is_new = !known_.contains(output) && !constants_.contains(output);
      if (!is_new) return absl::InvalidArgumentError(absl::StrCat("two nodes make \"", output, "\""));
      (is_constant ? constants_ : known_).insert(output);
    }
    if (is_constant) {
      ++folded_;
    } else {
      AddOperator(node);
    }
    return absl::OkStatus();
  }

  static std::string Named(const onnx::NodeProto& node) { return node.name().empty() ? node.op_type() : node.name(); }

  // Unique, and no longer than the contract allows.
  std::string NameFor(const onnx::NodeProto& node) {
    std::string name(FirstBytes(node.name(), kMaxNameBytes));
    if (name.empty()) name = absl::StrCat(node.op_type(), "_", graph_.operators_size() - 1);
    while (!names_.insert(name).second) absl::StrAppend(&name, "_", graph_.operators_size() - 1);
    return name;
  }

  void AddOperator(const onnx::NodeProto& node) {
    v1::Operator& op = *graph_.add_operators();
    op.set_name(NameFor(node));
    op.set_type(node.op_type());
    op.set_layer(LayerOf(node));
    double read = 0;
    double parameters = 0;
    double activations = 0;
    std::set<std::string> seen;
    for (const std::string& input : ReadBy(node)) {
      if (input.empty() || !seen.insert(input).second) continue;
      const double bytes = BytesOf(input);
      read += bytes;
      (constants_.contains(input) ? parameters : activations) += bytes;
      consumers_[input].push_back(graph_.operators_size() - 1);
    }
    double written = 0;
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      written += BytesOf(output);
      producers_.emplace_back(output, graph_.operators_size() - 1);
      if (!shapes_.contains(output)) ++without_shape_;
    }
    if (HasSubgraph(node)) ++control_flow_;
    const OperatorWork work = WorkOf(node, shapes_);
    op.set_forward_flops(std::min(work.flops, 1e300));
    op.set_backward_flops(std::min(work.flops, 1e300) * (work.is_product ? 2 : 1));
    op.set_forward_bytes_accessed(Rounded(read + written));
    op.set_backward_bytes_accessed(Rounded((read + written) * (work.is_product ? 2 : 1)));
    op.set_parameter_bytes(Rounded(parameters));
    op.set_activation_bytes(Rounded(activations));
  }

  static int64_t Rounded(double bytes) { return static_cast<int64_t>(std::min(bytes, kMaxBytes)); }

  void AddTensors() {
    for (const auto& [value, producer] : producers_) {
      const auto readers = consumers_.find(value);
      if (readers == consumers_.end()) continue;
      v1::Tensor& tensor = *graph_.add_tensors();
      tensor.set_name(value.size() <= kMaxNameBytes ? value : absl::StrCat("value_", graph_.tensors_size()));
      tensor.set_producer(graph_.operators(producer).name());
      for (const int reader : readers->second) tensor.add_consumers(graph_.operators(reader).name());
      tensor.set_size_bytes(Rounded(BytesOf(value)));
    }
  }

  // Sets the samples of a batch, where the first input has one.
  void SetSamples() {
    for (const onnx::ValueInfoProto& input : model_.graph().input()) {
      const auto shape = shapes_.find(input.name());
      if (constants_.contains(input.name()) || shape == shapes_.end() || shape->second.dimensions.empty()) continue;
      if (shape->second.dimensions.front() > 0) graph_.set_samples_per_micro_batch(shape->second.dimensions.front());
      return;
    }
  }

  void Warn() {
    const auto add = [this](int count, const char* what) {
      if (count > 0) warnings_.push_back(absl::StrCat(count, what));
    };
    add(folded_, " nodes depend on constants only and are folded into parameters");
    add(without_shape_,
        " values have no shape that could be inferred and count as empty; their operators count no work");
    add(control_flow_, " nodes are control flow; each counts as one operator, without what is inside");
  }

  onnx::ModelProto& model_;
  std::vector<std::string>& warnings_;
  const std::map<std::string, ValueShape> shapes_;
  v1::Graph graph_;
  std::set<std::string> names_;
  std::set<std::string> constants_;
  // Values that depend on an input.
  std::set<std::string> known_;
  // In the order of the model.
  std::vector<std::pair<std::string, int>> producers_;
  std::unordered_map<std::string, std::vector<int>> consumers_;
  int folded_ = 0;
  int without_shape_ = 0;
  int control_flow_ = 0;
};

}  // namespace

absl::StatusOr<v1::Graph> GraphOfModel(onnx::ModelProto& model, const std::map<std::string, int64_t>& dimensions,
                                       std::vector<std::string>& warnings) {
  const absl::Status inlined = InlineFunctions(model);
  if (!inlined.ok()) return inlined;
  return GraphBuilder(model, dimensions, warnings).Build();
}

}  // namespace planwright::onnx_reader
