#include "client/exporter/planners.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/exporter/cannot_express.h"
#include "client/report/joint_report.h"

namespace planwright::client {
namespace {

bool IsNodeName(std::string_view name) {
  constexpr std::string_view kPrefix = "node";
  return name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
         name.find_first_not_of("0123456789", kPrefix.size()) == std::string_view::npos;
}

// Returns the stage of each operator; absent: the plan does not place it.
std::unordered_map<std::string_view, int> StagesOf(const v1::Plan& plan) {
  std::unordered_map<std::string_view, int> stages;
  for (int stage = 0; stage < plan.stages_size(); ++stage) {
    for (const std::string& name : plan.stages(stage).operators()) stages.emplace(name, stage);
  }
  return stages;
}

// What an operator makes, in bytes.
std::unordered_map<std::string_view, int64_t> OutputBytes(const v1::Graph& graph) {
  std::unordered_map<std::string_view, int64_t> bytes;
  for (const v1::Tensor& tensor : graph.tensors()) bytes[tensor.producer()] += tensor.size_bytes();
  return bytes;
}

// Nothing that would end the field or the line.
std::string DescriptionOf(const v1::Operator& op) {
  const std::string text = op.type().empty() ? op.name() : op.type();
  return absl::StrReplaceAll(text, {{" -- ", " - "}, {"\n", " "}, {"\r", " "}});
}

// Returns lines in the order of the graph; an error names the first that has none.
absl::StatusOr<std::vector<std::string>> NodeLines(const ExportInput& input,
                                                   const std::unordered_map<std::string_view, std::string>& names) {
  const auto stages = StagesOf(input.plan);
  const auto bytes = OutputBytes(*input.graph);
  std::vector<std::string> lines;
  for (const v1::Operator& op : input.graph->operators()) {
    if (op.pass() == v1::PASS_BACKWARD) {
      return CannotExpress("pipedream", absl::StrCat("operator ", op.name(), " is a backward pass of its own"));
    }
    const auto stage = stages.find(op.name());
    if (stage == stages.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the plan places no operator \"", op.name(), "\"; give the graph that the plan was made for"));
    }
    const bool is_input = op.type() == "Input";
    if (op.costs().empty() && !is_input) {
      return CannotExpress("pipedream", absl::StrCat("operator ", op.name(), " has no measured times; give --profile"));
    }
    const auto made = bytes.find(op.name());
    lines.push_back(
        absl::StrFormat("%s -- %s -- forward_compute_time=%.6f, backward_compute_time=%.6f, activation_size=%d.0, "
                        "parameter_size=%d.000 -- "
                        "stage_id=%d",
                        names.at(op.name()), is_input ? "Input" : DescriptionOf(op),
                        is_input ? 0 : op.costs(0).forward_ms(), is_input ? 0 : op.costs(0).backward_ms(),
                        made == bytes.end() ? 0 : made->second, op.parameter_bytes(), stage->second));
  }
  return lines;
}

// Exports stages whose replicas take whole micro-batches in turn, as Piper's do.
absl::StatusOr<Exported> ExportTurnsForPiper(const v1::Plan& plan) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (const v1::Stage& stage : plan.stages()) {
    nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
    nlohmann::ordered_json variants = nlohmann::ordered_json::array();
    for (const v1::JointStage::Chunk& chunk : stage.joint().chunks()) {
      for (int i = 0; i < chunk.layers_size(); ++i) {
        int64_t id = 0;
        if (!absl::SimpleAtoi(chunk.layers(i), &id)) {
          return CannotExpress("piper", absl::StrCat("operator ", chunk.layers(i), " is no id of a node of Piper's"));
        }
        const bool is_again = i < chunk.recomputation_size() && chunk.recomputation(i) == v1::LAYER_RECOMPUTATION_FULL;
        nodes.push_back(id);
        variants.push_back({id, is_again ? "activation recomp" : "vanilla"});
      }
    }
    stages.push_back({{"nodes", nodes},
                      {"dataParallelDegree", stage.joint().data_degree()},
                      {"tensorParallelDegree", stage.joint().tensor_degree()},
                      {"TMPCids", variants}});
  }
  return Exported{nlohmann::ordered_json{{"stages", stages}}.dump(1) + "\n", ""};
}

}  // namespace

absl::StatusOr<Exported> ExportPipedream(const ExportInput& input) {
  const auto& operators = input.graph->operators();
  const bool keeps_names =
      std::all_of(operators.begin(), operators.end(), [](const v1::Operator& op) { return IsNodeName(op.name()); });
  std::unordered_map<std::string_view, std::string> names;
  for (int i = 0; i < operators.size(); ++i) {
    names.emplace(operators[i].name(), keeps_names ? operators[i].name() : absl::StrCat("node", i + 1));
  }
  const auto lines = NodeLines(input, names);
  if (!lines.ok()) return lines.status();
  Exported exported;
  exported.text = absl::StrCat(absl::StrJoin(*lines, "\n"), "\n");
  for (const v1::Tensor& tensor : input.graph->tensors()) {
    for (const std::string& consumer : tensor.consumers()) {
      const auto from = names.find(tensor.producer());
      const auto to = names.find(consumer);
      if (from == names.end() || to == names.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the tensor ", tensor.name(), " of the graph joins operators that it does not have"));
      }
      absl::StrAppend(&exported.text, "\t", from->second, " -- ", to->second, "\n");
    }
  }
  exported.advice = absl::StrCat("with --stage_to_num_ranks ",
                                 absl::StrJoin(input.plan.stages(), ",", [](std::string* out, const v1::Stage& stage) {
                                   absl::StrAppend(out, stage.index(), ":", stage.replicas_size());
                                 }));
  return exported;
}

absl::StatusOr<Exported> ExportPiper(const ExportInput& input) {
  if (TakesTurns(input.plan)) return ExportTurnsForPiper(input.plan);
  if (input.plan.has_joint()) {
    return CannotExpress("piper", "its degrees are of the joint search, which divides tensors in other ways");
  }
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (const v1::Stage& stage : input.plan.stages()) {
    nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
    nlohmann::ordered_json variants = nlohmann::ordered_json::array();
    for (const std::string& name : stage.operators()) {
      int64_t id = 0;
      if (!absl::SimpleAtoi(name, &id)) {
        return CannotExpress("piper", absl::StrCat("operator ", name, " is no id of a node of Piper's"));
      }
      nodes.push_back(id);
      variants.push_back({id, "vanilla"});
    }
    stages.push_back({{"nodes", nodes},
                      {"dataParallelDegree", stage.replicas_size()},
                      {"tensorParallelDegree", 1},
                      {"TMPCids", variants}});
  }
  return Exported{nlohmann::ordered_json{{"stages", stages}}.dump(1) + "\n", ""};
}

}  // namespace planwright::client
