#include "client/importer/graphs/pipedream.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/importer/graphs/class_times.h"
#include "client/importer/graphs/number_limits.h"
#include "client/importer/reading/cells.h"
#include "client/importer/reading/native.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

constexpr std::string_view kSeparator = " -- ";
constexpr std::string_view kForward = "forward_compute_time";
constexpr std::string_view kBackward = "backward_compute_time";
constexpr std::string_view kActivation = "activation_size";
constexpr std::string_view kParameters = "parameter_size";
constexpr std::string_view kStage = "stage_id";

struct Node {
  std::string_view name;
  std::string_view description;
  double forward = 0;
  double backward = 0;
  double activation_bytes = 0;
  double parameter_bytes = 0;
  std::optional<int64_t> stage = std::nullopt;
  std::size_t line = 0;
};

struct NamedEdge {
  std::string_view from;
  std::string_view to;
  std::size_t line = 0;
};

std::string_view Stripped(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\v\f";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// What is before the first `separator`, which is taken off `text` with it; all of it where there is none.
std::string_view TakeBefore(std::string_view separator, std::string_view& text) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + separator.size());
  return part;
}

bool IsNodeName(std::string_view text) {
  constexpr std::string_view kPrefix = "node";
  return text.starts_with(kPrefix) && text.size() > kPrefix.size() &&
         text.find_first_not_of("0123456789", kPrefix.size()) == std::string_view::npos;
}

// Finite and >= 0.
// A number, or the sum of "[1; 2; 3]".
std::optional<double> SizeOf(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']')) return NumberOf(text);
  text = text.substr(1, text.size() - 2);
  double sum = 0;
  while (!text.empty()) {
    const auto part = NumberOf(Stripped(TakeBefore(";", text)));
    if (!part.has_value()) return std::nullopt;
    sum += *part;
  }
  return sum;
}

// "Conv2d" of "Conv2d(3, 64, kernel_size=(7, 7))".
std::string TypeOf(std::string_view description) { return std::string(description.substr(0, description.find('('))); }

bool IsInput(const Node& node) { return node.description.starts_with("Input"); }

// The lines of a file, with what is wrong with them.
class ProfileReader {
 public:
  explicit ProfileReader(ViolationList& violations) : violations_(violations) {}

  void Read(std::string_view text) {
    while (!text.empty()) {
      ++line_;
      const std::string_view line = Stripped(TakeBefore("\n", text));
      if (!line.empty()) ReadLine(line);
    }
    for (const NamedEdge& edge : edges_) CheckEdge(edge);
    if (nodes_.empty() && violations_.empty()) violations_.Add("", "has no node");
  }

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<NamedEdge>& edges() const { return edges_; }

 private:
  void Report(std::string rule) { violations_.Add(absl::StrCat("line ", line_), std::move(rule)); }

  void ReadLine(std::string_view line) {
    std::string_view rest = line;
    const std::string_view name = Stripped(TakeBefore(kSeparator, rest));
    if (!IsNodeName(name)) return Report(absl::StrCat("must begin with a node such as node10, begins ", Quoted(name)));
    if (rest.find(kSeparator) == std::string_view::npos) return ReadEdge(name, Stripped(rest));
    Node node{.name = name, .description = Stripped(TakeBefore(kSeparator, rest)), .line = line_};
    ReadFields(rest, node);
    const auto [first, is_new] = index_of_.emplace(name, nodes_.size());
    if (!is_new) {
      return Report(absl::StrCat("must name a node of its own, ", std::string(name), " is that of line ",
                                 nodes_[first->second].line));
    }
    nodes_.push_back(node);
  }

  void ReadEdge(std::string_view from, std::string_view to) {
    if (!IsNodeName(to)) return Report(absl::StrCat("must name the node that the edge leads to, is ", Quoted(to)));
    edges_.push_back({from, to, line_});
  }

  // "forward_compute_time=1, ... -- stage_id=3".
  void ReadFields(std::string_view text, Node& node) {
    std::set<std::string_view> given;
    std::string_view costs = TakeBefore(kSeparator, text);
    for (std::string_view* part : {&costs, &text}) {
      while (!part->empty()) {
        std::string_view field = Stripped(TakeBefore(",", *part));
        const std::string_view key = Stripped(TakeBefore("=", field));
        given.insert(key);
        ReadField(key, Stripped(field), node);
      }
    }
    for (const std::string_view key : {kForward, kBackward, kActivation, kParameters}) {
      if (!given.contains(key)) Report(absl::StrCat(std::string(key), " is missing"));
    }
  }

  void ReadField(std::string_view key, std::string_view value, Node& node) {
    const bool is_size = key == kActivation || key == kParameters;
    const bool is_known = is_size || key == kForward || key == kBackward || key == kStage;
    if (!is_known) return Report(absl::StrCat("has no field ", Quoted(key)));
    const auto number = is_size ? SizeOf(value) : NumberOf(value);
    if (!number.has_value() || (is_size && *number > kMaxBytes) || (key == kStage && !IsStage(*number))) {
      return Report(absl::StrCat(std::string(key), " must be a number >= 0, is ", Quoted(value)));
    }
    if (key == kForward) node.forward = *number;
    if (key == kBackward) node.backward = *number;
    if (key == kActivation) node.activation_bytes = *number;
    if (key == kParameters) node.parameter_bytes = *number;
    if (key == kStage) node.stage = static_cast<int64_t>(*number);
  }

  static bool IsStage(double number) {
    constexpr double kMostStages = 1e6;
    return number == std::floor(number) && number <= kMostStages;
  }

  void CheckEdge(const NamedEdge& edge) {
    line_ = edge.line;
    for (const std::string_view end : {edge.from, edge.to}) {
      if (!index_of_.contains(end)) Report(absl::StrCat("there is no node ", Quoted(end)));
    }
    if (edge.from == edge.to) Report(absl::StrCat(Quoted(edge.from), " must not lead to itself"));
  }

  ViolationList& violations_;
  std::size_t line_ = 0;
  std::vector<Node> nodes_;
  std::vector<NamedEdge> edges_;
  std::unordered_map<std::string_view, std::size_t> index_of_;
};

// Errors: INVALID_ARGUMENT, text that protobuf could not hold.
absl::Status CheckText(std::string_view text, std::string_view source) {
  if (IsUtf8(text)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": is not valid UTF-8"));
}

void AddOperators(const std::vector<Node>& nodes, double ms_per_unit, v1::Graph& graph) {
  for (const Node& node : nodes) {
    v1::Operator& op = *graph.add_operators();
    op.set_name(std::string(node.name));
    op.set_type(IsInput(node) ? "Input" : TypeOf(node.description));
    op.set_parameter_bytes(std::llround(node.parameter_bytes));
    if (IsInput(node)) continue;
    v1::OperatorCost& cost = *op.add_costs();
    cost.set_device_class(kUnnamedClass);
    cost.set_forward_ms(node.forward * ms_per_unit);
    cost.set_backward_ms(node.backward * ms_per_unit);
  }
}

// One tensor for each node with edges, whose consumers keep it for their backward pass. Parallel edges are one.
void AddTensors(const std::vector<Node>& nodes, const std::vector<NamedEdge>& edges, v1::Graph& graph) {
  std::unordered_map<std::string_view, int> position;
  for (std::size_t i = 0; i < nodes.size(); ++i) position.emplace(nodes[i].name, static_cast<int>(i));
  std::map<int, std::set<int>> consumers;
  for (const NamedEdge& edge : edges) consumers[position.at(edge.from)].insert(position.at(edge.to));
  for (const auto& [producer, readers] : consumers) {
    const Node& node = nodes[static_cast<std::size_t>(producer)];
    const int64_t bytes = std::llround(node.activation_bytes);
    v1::Tensor& tensor = *graph.add_tensors();
    tensor.set_name(absl::StrCat(std::string(node.name), ".out"));
    tensor.set_producer(std::string(node.name));
    tensor.set_size_bytes(bytes);
    for (const int reader : readers) {
      v1::Operator& op = *graph.mutable_operators(reader);
      tensor.add_consumers(op.name());
      constexpr auto kMost = static_cast<int64_t>(kMaxBytes);
      op.set_activation_bytes(std::min(kMost - bytes, op.activation_bytes()) + bytes);
    }
  }
}

void WarnOfInputs(const std::vector<Node>& nodes, double ms_per_unit, std::string_view source,
                  std::vector<std::string>& warnings) {
  for (const Node& node : nodes) {
    const double time_ms = (node.forward + node.backward) * ms_per_unit;
    if (!IsInput(node) || time_ms == 0) continue;
    warnings.push_back(absl::StrFormat("%s: %s is an input: its %.3f ms are for loading data and not counted",
                                       std::string(source), std::string(node.name), time_ms));
  }
}

}  // namespace

absl::Status ReadPipeDreamGraph(std::string_view text, std::string_view source, std::optional<double> ms_per_unit,
                                v1::Graph& graph, std::vector<std::string>& warnings) {
  const absl::Status readable = CheckText(text, source);
  if (!readable.ok()) return readable;
  ViolationList violations;
  ProfileReader reader(violations);
  reader.Read(text);
  if (!violations.empty()) return violations.ToStatus(source);
  AddOperators(reader.nodes(), ms_per_unit.value_or(1), graph);
  AddTensors(reader.nodes(), reader.edges(), graph);
  if (!ms_per_unit.has_value()) {
    warnings.push_back(
        absl::StrCat(std::string(source), ": times are taken for milliseconds; --time_unit says otherwise"));
  }
  WarnOfInputs(reader.nodes(), ms_per_unit.value_or(1), source, warnings);
  return absl::OkStatus();
}

bool HasPipeDreamStages(std::string_view text) {
  return text.substr(0, text.find('\n')).find(absl::StrCat(std::string(kSeparator), std::string(kStage), "=")) !=
         std::string_view::npos;
}

absl::StatusOr<v1::Plan> ReadPipeDreamStages(std::string_view text, std::string_view source) {
  const absl::Status readable = CheckText(text, source);
  if (!readable.ok()) return readable;
  ViolationList violations;
  ProfileReader reader(violations);
  reader.Read(text);
  std::map<int64_t, std::vector<std::string_view>> operators;
  for (const Node& node : reader.nodes()) {
    if (node.stage.has_value()) {
      operators[*node.stage].push_back(node.name);
    } else {
      violations.Add(absl::StrCat("line ", node.line), "stage_id is missing, which other nodes have");
    }
  }
  if (!violations.empty()) return violations.ToStatus(source);
  v1::Plan plan;
  for (const auto& [number, names] : operators) {
    v1::Stage& stage = *plan.add_stages();
    stage.set_index(plan.stages_size() - 1);
    for (const std::string_view name : names) stage.add_operators(std::string(name));
  }
  return plan;
}

}  // namespace planwright::client
