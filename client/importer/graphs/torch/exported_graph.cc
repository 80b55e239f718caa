#include "client/importer/graphs/torch/exported_graph.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/importer/graphs/torch/aten_work.h"
#include "client/importer/graphs/torch/exported_values.h"
#include "client/importer/graphs/torch/module_stack.h"
#include "client/importer/reading/cells.h"
#include "client/importer/reading/json_fields.h"
#include "core/text/utf8.h"

namespace planwright::client {
namespace {

using Json = nlohmann::json;

constexpr double kMaxBytes = 4611686018427387904.0;  // 2^62
constexpr double kMaxFlops = 1e300;
constexpr std::size_t kMaxNameBytes = 240;
constexpr char kGraph[] = "graph_module.graph";

std::string TextOf(const Json& value, const char* name) {
  const Json* const text = FieldOf(value, name);
  return text != nullptr && text->is_string() ? text->get<std::string>() : "";
}

// The names of the tensors of an argument, or of a list of them; absent ones are "".
std::vector<std::string> TensorsOf(const Json& argument) {
  std::vector<std::string> names;
  if (const Json* const tensor = FieldOf(argument, "as_tensor")) names.push_back(TextOf(*tensor, "name"));
  if (const Json* const tensors = FieldOf(argument, "as_tensors"); tensors != nullptr && tensors->is_array()) {
    for (const Json& tensor : *tensors) names.push_back(TextOf(tensor, "name"));
  }
  if (const Json* const tensors = FieldOf(argument, "as_optional_tensors"); tensors != nullptr && tensors->is_array()) {
    for (const Json& element : *tensors) {
      const Json* const tensor = FieldOf(element, "as_tensor");
      names.push_back(tensor == nullptr ? "" : TextOf(*tensor, "name"));
    }
  }
  return names;
}

// What a node says, without sizes.
struct Node {
  std::string target;
  std::string path;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::string layer;
  double window = 1;
  std::string equation;
  bool is_transposed = false;
  bool has_graph = false;
};

// The product of a list of whole numbers; 1 for anything else.
double ProductOf(const Json& argument) {
  double product = 1;
  const Json* const numbers = FieldOf(argument, "as_ints");
  if (numbers == nullptr || !numbers->is_array()) return product;
  for (const Json& number : *numbers)
    product *= static_cast<double>(std::max<int64_t>(WholeNumber(number).value_or(1), 1));
  return product;
}

void ReadArgument(const Json& input, Node& node) {
  const std::string name = TextOf(input, "name");
  const Json* const argument = FieldOf(input, "arg");
  if (argument == nullptr) return;
  for (std::string& tensor : TensorsOf(*argument)) node.inputs.push_back(std::move(tensor));
  if (name == "equation") node.equation = TextOf(*argument, "as_string");
  if (name == "kernel_size") node.window = ProductOf(*argument);
  const Json* const flag = FieldOf(*argument, "as_bool");
  if (name == "transposed" && flag != nullptr && flag->is_boolean()) node.is_transposed = flag->get<bool>();
  if (FieldOf(*argument, "as_graph") != nullptr) node.has_graph = true;
}

class GraphBuilder {
 public:
  GraphBuilder(const Json& module, const std::map<std::string, int64_t>& dimensions, v1::Graph& graph,
               std::vector<std::string>& warnings, ViolationList& violations)
      : module_(module), dimensions_(dimensions), graph_(graph), warnings_(warnings), violations_(violations) {}

  void Build() {
    const Json* const graph = FieldOf(module_, "graph");
    const Json* const nodes = graph == nullptr ? nullptr : FieldOf(*graph, "nodes");
    if (nodes == nullptr || !nodes->is_array() || nodes->empty()) {
      return violations_.Add(absl::StrCat(kGraph, ".nodes"), "must be a list of nodes");
    }
    tensors_ = ReadExportedTensors(*graph, kGraph, dimensions_, hinted_, without_size_, violations_);
    ReadInputs(*graph);
    for (std::size_t i = 0; i < nodes->size(); ++i) AddNode(ReadNode((*nodes)[i], i));
    AddTensors();
    if (graph_.operators().empty() && violations_.empty()) {
      violations_.Add(absl::StrCat(kGraph, ".nodes"), "must depend on an input: every node depends on constants only");
    }
    Warn();
  }

 private:
  // Which of the graph's inputs are parameters and constants says the signature; all others are of the user's.
  void ReadInputs(const Json& graph) {
    const Json* const signature = FieldOf(module_, "signature");
    const Json* const specs = signature == nullptr ? nullptr : FieldOf(*signature, "input_specs");
    if (specs == nullptr || !specs->is_array()) {
      return violations_.Add("graph_module.signature.input_specs", "must be a list");
    }
    for (const Json& spec : *specs) {
      for (const char* const kind : {"parameter", "buffer", "tensor_constant"}) {
        const Json* const constant = FieldOf(spec, kind);
        const Json* const argument = constant == nullptr ? nullptr : FieldOf(*constant, "arg");
        if (argument != nullptr) constants_.insert(TextOf(*argument, "name"));
      }
    }
    const Json* const inputs = FieldOf(graph, "inputs");
    if (inputs == nullptr || !inputs->is_array())
      return violations_.Add(absl::StrCat(kGraph, ".inputs"), "must be a list");
    for (const Json& input : *inputs) {
      for (const std::string& name : TensorsOf(input)) {
        if (constants_.contains(name)) continue;
        if (known_.empty()) SetSamples(name);
        known_.insert(name);
      }
    }
  }

  // Sets the samples of a batch, where the first input has one.
  void SetSamples(const std::string& input) {
    const ExportedTensor* const tensor = Find(input);
    const bool has_batch = tensor != nullptr && !tensor->sizes.empty() && tensor->sizes.front() > 0;
    if (has_batch) graph_.set_samples_per_micro_batch(tensor->sizes.front());
  }

  Node ReadNode(const Json& value, std::size_t index) {
    Node node;
    node.path = absl::StrCat(kGraph, ".nodes[", index, "]");
    FieldReader fields(value, node.path, violations_);
    fields.Require("target");
    node.target = fields.String("target").value_or("");
    const Json* const inputs = fields.Array("inputs");
    const Json* const outputs = fields.Array("outputs");
    for (const Json& input : inputs == nullptr ? Json::array() : *inputs) ReadArgument(input, node);
    for (const Json& output : outputs == nullptr ? Json::array() : *outputs) {
      for (std::string& name : TensorsOf(output)) node.outputs.push_back(std::move(name));
    }
    std::erase(node.outputs, "");
    if (const Json* const metadata = FieldOf(value, "metadata")) {
      node.layer = LayerOfModuleStack(TextOf(*metadata, "nn_module_stack"));
    }
    return node;
  }

  void AddNode(const Node& node) {
    if (node.outputs.empty()) {
      ++sizes_only_;
      return;
    }
    bool is_constant = true;
    for (const std::string& input : node.inputs) {
      if (input.empty() || constants_.contains(input)) continue;
      is_constant = false;
      if (!known_.contains(input)) {
        violations_.Add(node.path, absl::StrCat("reads ", Quoted(input), ", which nothing before it makes"));
      }
    }
    for (const std::string& output : node.outputs) {
      const bool is_new = !known_.contains(output) && !constants_.contains(output);
      if (!is_new) violations_.Add(node.path, absl::StrCat("makes ", Quoted(output), ", which there is already"));
      (is_constant ? constants_ : known_).insert(output);
    }
    if (is_constant) {
      ++folded_;
    } else {
      AddOperator(node);
    }
  }

  const ExportedTensor* Find(const std::string& name) const {
    const auto tensor = tensors_.find(name);
    return tensor == tensors_.end() ? nullptr : &tensor->second;
  }

  void AddOperator(const Node& node) {
    v1::Operator& op = *graph_.add_operators();
    op.set_name(NameFor(node));
    op.set_type(std::string(FirstBytes(AtenName(node.target), kMaxNameBytes)));
    op.set_layer(std::string(FirstBytes(node.layer, kMaxNameBytes)));
    AtenCall call;
    call.target = node.target;
    call.window = node.window;
    call.equation = node.equation;
    call.is_transposed = node.is_transposed;
    double parameters = 0;
    double activations = 0;
    std::set<std::string_view> seen;
    for (const std::string& input : node.inputs) {
      const ExportedTensor* const tensor = input.empty() ? nullptr : Find(input);
      call.inputs.push_back(tensor);
      if (input.empty() || !seen.insert(input).second) continue;
      const double bytes = tensor == nullptr ? 0 : tensor->bytes();
      (constants_.contains(input) ? parameters : activations) += bytes;
      consumers_[input].push_back(graph_.operators_size() - 1);
    }
    double written = 0;
    for (const std::string& output : node.outputs) {
      call.outputs.push_back(Find(output));
      written += call.outputs.back() == nullptr ? 0 : call.outputs.back()->bytes();
      producers_.emplace_back(output, graph_.operators_size() - 1);
    }
    if (node.has_graph) ++control_flow_;
    SetWork(node.has_graph ? AtenWork() : WorkOf(call), parameters + activations + written, op);
    op.set_parameter_bytes(Rounded(parameters));
    op.set_activation_bytes(Rounded(activations));
  }

  static void SetWork(const AtenWork& work, double bytes, v1::Operator& op) {
    const double flops = work.flops < kMaxFlops ? work.flops : kMaxFlops;
    const double backward = work.is_product ? 2 : 1;
    op.set_forward_flops(flops);
    op.set_backward_flops(flops * backward);
    op.set_forward_bytes_accessed(Rounded(bytes));
    op.set_backward_bytes_accessed(Rounded(bytes * backward));
  }

  // What is no number is beyond all.
  static int64_t Rounded(double bytes) { return static_cast<int64_t>(bytes < kMaxBytes ? bytes : kMaxBytes); }

  // Values have different names, which are no longer than the contract allows.
  std::string NameFor(const Node& node) const {
    if (node.outputs.front().size() <= kMaxNameBytes) return node.outputs.front();
    return absl::StrCat("operator ", graph_.operators_size() - 1);
  }

  void AddTensors() {
    for (const auto& [value, producer] : producers_) {
      const auto readers = consumers_.find(value);
      if (readers == consumers_.end()) continue;
      v1::Tensor& tensor = *graph_.add_tensors();
      tensor.set_name(value.size() <= kMaxNameBytes ? value : absl::StrCat("value ", graph_.tensors_size() - 1));
      tensor.set_producer(graph_.operators(producer).name());
      for (const int reader : readers->second) tensor.add_consumers(graph_.operators(reader).name());
      const ExportedTensor* const size = Find(value);
      tensor.set_size_bytes(size == nullptr ? 0 : Rounded(size->bytes()));
    }
  }

  void WarnOfHints() {
    constexpr std::size_t kMostNamed = 8;
    if (hinted_.empty()) return;
    std::vector<std::string> named;
    for (const auto& [symbol, size] : hinted_) {
      if (named.size() < kMostNamed) named.push_back(absl::StrCat(Quoted(symbol), " for ", size));
    }
    const std::size_t others = hinted_.size() - named.size();
    warnings_.push_back(absl::StrCat("sizes are taken as the model was exported: ", absl::StrJoin(named, ", "),
                                     others > 0 ? absl::StrCat(" and ", others, " more") : "",
                                     "; --dim=NAME=N says others"));
  }

  void Warn() {
    WarnOfHints();
    const auto add = [this](int64_t count, const char* what) {
      if (count > 0) warnings_.push_back(absl::StrCat(count, what));
    };
    add(folded_, " nodes depend on constants only and are folded into parameters");
    add(sizes_only_, " nodes make no tensors, only sizes and checks, and are left out");
    add(without_size_, " values have no size that is known and count as empty");
    add(control_flow_, " nodes are control flow; each counts as one operator, without what is inside");
  }

  const Json& module_;
  const std::map<std::string, int64_t>& dimensions_;
  v1::Graph& graph_;
  std::vector<std::string>& warnings_;
  ViolationList& violations_;
  ExportedTensors tensors_;
  std::unordered_set<std::string> constants_;
  // Values that depend on an input of the user's.
  std::unordered_set<std::string> known_;
  // In the order of the model.
  std::vector<std::pair<std::string, int>> producers_;
  std::unordered_map<std::string, std::vector<int>> consumers_;
  std::map<std::string, int64_t> hinted_;
  int64_t without_size_ = 0;
  int64_t folded_ = 0;
  int64_t sizes_only_ = 0;
  int64_t control_flow_ = 0;
};

}  // namespace

void ReadExportedGraph(const Json& module, const std::map<std::string, int64_t>& dimensions, v1::Graph& graph,
                       std::vector<std::string>& warnings, ViolationList& violations) {
  GraphBuilder(module, dimensions, graph, warnings, violations).Build();
}

}  // namespace planwright::client
