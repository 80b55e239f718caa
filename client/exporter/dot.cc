#include "client/exporter/dot.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/report/quantities.h"

namespace planwright::client {
namespace {

// More boxes than a page shows; then layers are drawn, then stages.
constexpr std::size_t kMaxNodes = 60;

// A string between quotes; `\n` of ours stays a line break.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      quoted += c;
    }
  }
  return quoted + '"';
}

// What one box of the picture stands for.
enum class Detail { kOperators, kLayers, kStages };

struct Node {
  int stage = 0;
  std::string label;
};

class DotWriter {
 public:
  explicit DotWriter(const ExportInput& input) : input_(input) {}

  absl::StatusOr<std::string> Write() {
    for (const Detail detail : {Detail::kOperators, Detail::kLayers, Detail::kStages}) {
      const absl::Status status = MakeNodes(detail);
      if (!status.ok()) return status;
      if (nodes_.size() <= kMaxNodes || detail == Detail::kStages) break;
    }
    return absl::StrCat(
        "digraph plan {\n  rankdir=LR;\n  graph [fontname=\"sans-serif\", fontsize=11];\n  node [shape=box, "
        "fontname=\"sans-serif\", fontsize=10];\n  edge [fontname=\"sans-serif\", fontsize=9];\n",
        Clusters(), Edges(), "}\n");
  }

 private:
  // Fills nodes_ and node_of_.
  absl::Status MakeNodes(Detail detail) {
    std::unordered_map<std::string_view, const v1::Operator*> operators;
    for (const v1::Operator& op : input_.graph->operators()) operators.emplace(op.name(), &op);
    nodes_.clear();
    node_of_.clear();
    for (int stage = 0; stage < input_.plan.stages_size(); ++stage) {
      std::map<std::string, std::size_t> known;
      for (const std::string& name : input_.plan.stages(stage).operators()) {
        const auto op = operators.find(name);
        if (op == operators.end()) {
          return absl::InvalidArgumentError(absl::StrCat("plan.stages[", stage, "]: the graph has no operator \"", name,
                                                         "\"; give the graph that the plan was made for"));
        }
        const auto [entry, is_new] = known.emplace(Key(*op->second, detail), nodes_.size());
        if (is_new) nodes_.push_back({stage, Label(*op->second, stage, detail)});
        node_of_.emplace(name, entry->second);
      }
    }
    return absl::OkStatus();
  }

  // Operators of a stage with the same key share a node.
  static std::string Key(const v1::Operator& op, Detail detail) {
    if (detail == Detail::kOperators) return op.name();
    return detail == Detail::kLayers ? op.layer() : "";
  }

  static std::string Label(const v1::Operator& op, int stage, Detail detail) {
    if (detail == Detail::kStages) return absl::StrCat("stage ", stage);
    if (detail == Detail::kLayers) return op.layer().empty() ? "(no layer)" : op.layer();
    return op.type().empty() ? op.name() : absl::StrCat(op.name(), "\n", op.type());
  }

  std::string StageLabel(int index) const {
    const v1::Stage& stage = input_.plan.stages(index);
    const auto append_device = [](std::string* out, const v1::Replica& replica) {
      absl::StrAppend(out, replica.device());
    };
    if (stage.has_joint() && !stage.replicas().empty()) {
      const v1::JointStage& joint = stage.joint();
      return absl::StrCat("stage ", index, ": ", stage.replicas().begin()->device(), " .. ",
                          stage.replicas().rbegin()->device(), "\ntensor ", joint.tensor_degree(), ", context ",
                          joint.context_degree(), ", expert ", joint.expert_degree(), ", data ", joint.data_degree(),
                          "\n", DurationText(stage.load_ms()), ", ", BytesText(stage.memory_bytes()));
    }
    return absl::StrCat("stage ", index, ": ", absl::StrJoin(stage.replicas(), ", ", append_device), "\n",
                        DurationText(stage.load_ms()), ", ", BytesText(stage.memory_bytes()));
  }

  std::string Clusters() const {
    std::string text;
    std::size_t node = 0;
    for (int stage = 0; stage < input_.plan.stages_size(); ++stage) {
      absl::StrAppendFormat(&text, "  subgraph cluster_%d {\n    label=%s;\n    style=rounded;\n", stage,
                            Quoted(StageLabel(stage)));
      for (; node < nodes_.size() && nodes_[node].stage == stage; ++node) {
        absl::StrAppendFormat(&text, "    n%d [label=%s];\n", node, Quoted(nodes_[node].label));
      }
      absl::StrAppend(&text, "  }\n");
    }
    return text;
  }

  // One arrow for each pair of nodes, with the bytes of all its tensors.
  std::string Edges() const {
    std::map<std::pair<std::size_t, std::size_t>, int64_t> bytes;
    for (const v1::Tensor& tensor : input_.graph->tensors()) {
      const auto producer = node_of_.find(tensor.producer());
      if (producer == node_of_.end()) continue;
      for (const std::string& name : tensor.consumers()) {
        const auto consumer = node_of_.find(name);
        if (consumer == node_of_.end() || consumer->second == producer->second) continue;
        bytes[{producer->second, consumer->second}] += tensor.size_bytes();
      }
    }
    std::string text;
    for (const auto& [ends, size] : bytes) {
      const bool crosses = nodes_[ends.first].stage != nodes_[ends.second].stage;
      absl::StrAppendFormat(&text, "  n%d -> n%d [label=%s%s];\n", ends.first, ends.second, Quoted(BytesText(size)),
                            crosses ? ", penwidth=2" : ", color=gray, fontcolor=gray");
    }
    return text;
  }

  const ExportInput& input_;
  // In the order of the stages.
  std::vector<Node> nodes_;
  // By the name of the operator.
  std::unordered_map<std::string_view, std::size_t> node_of_;
};

}  // namespace

absl::StatusOr<Exported> ExportDot(const ExportInput& input) {
  auto text = DotWriter(input).Write();
  if (!text.ok()) return text.status();
  return Exported{*std::move(text), "draw it with: dot -Tsvg"};
}

}  // namespace planwright::client
