#include "client/report/inputs/graph_report.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/report/quantities.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

constexpr std::size_t kMaxTypes = 12;
constexpr std::size_t kMaxClasses = 8;

// Sums over operators. Bytes are doubles: files may say anything.
struct Totals {
  int64_t operators = 0;
  int64_t backward_operators = 0;
  double parameter_bytes = 0;
  double activation_bytes = 0;
  double forward_flops = 0;
  double backward_flops = 0;
  int64_t without_cost = 0;

  void Add(const v1::Operator& op) {
    ++operators;
    if (op.pass() == v1::PASS_BACKWARD) ++backward_operators;
    parameter_bytes += static_cast<double>(op.parameter_bytes());
    activation_bytes += static_cast<double>(op.activation_bytes());
    forward_flops += op.forward_flops();
    backward_flops += op.backward_flops();
    const bool is_costed = !op.costs().empty() || op.forward_flops() > 0 || op.forward_bytes_accessed() > 0;
    if (!is_costed && op.type() != "Input") ++without_cost;
  }
};

std::string SizeText(double bytes) {
  constexpr double kMost = 9e18;
  return BytesText(static_cast<int64_t>(std::clamp(bytes, 0.0, kMost)));
}

// "4.09 GFLOP".
std::string WorkText(double flops) {
  constexpr std::pair<double, const char*> kUnits[] = {{1e15, "PFLOP"}, {1e12, "TFLOP"}, {1e9, "GFLOP"}};
  for (const auto& [size, unit] : kUnits) {
    if (flops >= size) return absl::StrFormat("%.2f %s", flops / size, unit);
  }
  return absl::StrFormat("%.2f MFLOP", flops / 1e6);
}

// Returns the layers in the order of the graph, each once.
std::vector<std::string> LayersOf(const v1::Graph& graph) {
  std::vector<std::string> layers;
  std::set<std::string_view> known;
  for (const v1::Operator& op : graph.operators()) {
    if (!op.layer().empty() && known.insert(op.layer()).second) layers.push_back(op.layer());
  }
  return layers;
}

std::string LayersText(const v1::Graph& graph) {
  const std::vector<std::string> layers = LayersOf(graph);
  constexpr std::size_t kFew = 6;
  if (layers.empty()) return "none named";
  const std::string count = GroupedText(std::ssize(layers));
  if (layers.size() <= kFew) return absl::StrCat(count, ": ", absl::StrJoin(layers, ", "));
  return absl::StrCat(count, ": ", layers[0], ", ", layers[1], " .. ", layers[layers.size() - 2], ", ", layers.back());
}

// Says which device classes have measured times.
std::string TimesText(const v1::Graph& graph, const Totals& totals) {
  std::set<std::string> classes;
  for (const v1::Operator& op : graph.operators()) {
    for (const v1::OperatorCost& cost : op.costs()) classes.insert(cost.device_class());
  }
  const std::size_t more = classes.size() - std::min(classes.size(), kMaxClasses);
  std::string text = "estimated from operations and bytes by each device's roofline";
  if (!classes.empty()) {
    text = absl::StrCat(
        "given for ",
        absl::StrJoin(classes.begin(),
                      std::next(classes.begin(), std::ssize(classes) - static_cast<std::ptrdiff_t>(more)), ", "),
        more > 0 ? absl::StrCat(" and ", more, " more") : "");
  }
  if (totals.without_cost > 0) {
    absl::StrAppend(&text, "; ", CountedText(totals.without_cost, "operator has", "operators have"), " neither");
  }
  return text;
}

std::string Summary(const v1::Graph& graph, const Totals& totals) {
  Table table({{""}, Table::Wrapping("")});
  std::string operators = GroupedText(totals.operators);
  if (totals.backward_operators > 0) {
    absl::StrAppend(&operators, ", of which ", GroupedText(totals.backward_operators), " of the backward pass");
  }
  double tensor_bytes = 0;
  for (const v1::Tensor& tensor : graph.tensors()) tensor_bytes += static_cast<double>(tensor.size_bytes());
  table.AddRow({"operators", operators});
  table.AddRow({"tensors", absl::StrCat(GroupedText(graph.tensors_size()), ", together ", SizeText(tensor_bytes))});
  table.AddRow({"layers", LayersText(graph)});
  table.AddRow({"parameters", SizeText(totals.parameter_bytes)});
  table.AddRow({"activations", absl::StrCat(SizeText(totals.activation_bytes), " kept for the backward pass")});
  table.AddRow({"work", absl::StrCat(WorkText(totals.forward_flops), " forward, ", WorkText(totals.backward_flops),
                                     " backward")});
  table.AddRow({"times", TimesText(graph, totals)});
  if (graph.has_samples_per_micro_batch()) {
    table.AddRow({"micro-batch", CountedText(graph.samples_per_micro_batch(), "sample", "samples")});
  }
  return table.ToString();
}

// Lists types with most work first, then those with most operators.
std::string TypesSection(const v1::Graph& graph) {
  std::map<std::string, Totals> by_type;
  for (const v1::Operator& op : graph.operators()) by_type[op.type()].Add(op);
  std::vector<std::pair<std::string, Totals>> types(by_type.begin(), by_type.end());
  std::ranges::stable_sort(types, [](const auto& a, const auto& b) {
    return std::pair(a.second.forward_flops, a.second.operators) >
           std::pair(b.second.forward_flops, b.second.operators);
  });
  Table table({Table::Cutting("type"), {"operators", kRight}, {"forward", kRight}, {"parameters", kRight}});
  for (std::size_t i = 0; i < std::min(types.size(), kMaxTypes); ++i) {
    const auto& [type, totals] = types[i];
    table.AddRow({type.empty() ? "(none)" : type, GroupedText(totals.operators), WorkText(totals.forward_flops),
                  SizeText(totals.parameter_bytes)});
  }
  const std::string rest =
      types.size() > kMaxTypes ? absl::StrCat("  and ", types.size() - kMaxTypes, " more types\n") : "";
  return absl::StrCat("\nTypes of operators\n", table.ToString(), rest);
}

}  // namespace

std::string GraphReport(const std::string& title, const v1::Graph& graph) {
  Totals totals;
  for (const v1::Operator& op : graph.operators()) totals.Add(op);
  const std::string what =
      absl::StrCat(title, title.empty() ? "" : ": ", CountedText(graph.operators_size(), "operator", "operators"),
                   ", per micro-batch");
  return absl::StrCat(Wrapped(Printable(what), 2), "\n", Summary(graph, totals), TypesSection(graph));
}

}  // namespace planwright::client
