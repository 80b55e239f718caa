#include "client/exporter/model_layers.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/exporter/cannot_express.h"

namespace planwright::client {
namespace {

constexpr char kInputType[] = "Input";

// Positions in graph.operators() by name.
using OperatorIndex = std::unordered_map<std::string_view, int>;

OperatorIndex IndexOperators(const v1::Graph& graph) {
  OperatorIndex index;
  index.reserve(static_cast<std::size_t>(graph.operators_size()));
  for (int i = 0; i < graph.operators_size(); ++i) index.emplace(graph.operators(i).name(), i);
  return index;
}

// The operators in an order in which every tensor goes forward; ties by position.
std::vector<int> TopologicalOrder(const v1::Graph& graph, const OperatorIndex& index) {
  std::vector<std::vector<int>> successors(static_cast<std::size_t>(graph.operators_size()));
  std::vector<int> open_inputs(successors.size(), 0);
  for (const v1::Tensor& tensor : graph.tensors()) {
    const auto producer = index.find(tensor.producer());
    if (producer == index.end()) continue;
    for (const std::string& name : tensor.consumers()) {
      const auto consumer = index.find(name);
      if (consumer == index.end()) continue;
      successors[static_cast<std::size_t>(producer->second)].push_back(consumer->second);
      ++open_inputs[static_cast<std::size_t>(consumer->second)];
    }
  }
  std::deque<int> ready;
  for (int i = 0; i < graph.operators_size(); ++i) {
    if (open_inputs[static_cast<std::size_t>(i)] == 0) ready.push_back(i);
  }
  std::vector<int> order;
  order.reserve(successors.size());
  for (; !ready.empty(); ready.pop_front()) {
    order.push_back(ready.front());
    for (const int next : successors[static_cast<std::size_t>(ready.front())]) {
      if (--open_inputs[static_cast<std::size_t>(next)] == 0) ready.push_back(next);
    }
  }
  return order;
}

// "layer.12" is layer 12 of the kind "layer"; nullopt: not numbered.
struct LayerNumber {
  std::string kind;
  int64_t number = 0;
};

std::optional<LayerNumber> NumberOf(const std::string& label) {
  const std::size_t digits = label.find_last_not_of("0123456789") + 1;
  LayerNumber result;
  if (digits == label.size() || !absl::SimpleAtoi(label.substr(digits), &result.number)) return std::nullopt;
  result.kind = label.substr(0, digits);
  return result;
}

// One label of the model and where the plan puts it.
struct Layer {
  std::string label;
  int stage = 0;
  std::optional<LayerNumber> number;
};

class LayerReader {
 public:
  LayerReader(const v1::Graph& graph, const v1::Plan& plan, std::string_view target)
      : graph_(graph), plan_(plan), target_(target), operators_(IndexOperators(graph)) {}

  absl::StatusOr<std::vector<StageLayers>> Read() {
    for (const auto step : {&LayerReader::ReadStages, &LayerReader::ReadLayers, &LayerReader::CheckNumbers}) {
      const absl::Status status = (this->*step)();
      if (!status.ok()) return status;
    }
    return Distribute();
  }

 private:
  static bool IsLookedAt(const v1::Operator& op) { return op.pass() != v1::PASS_BACKWARD && op.type() != kInputType; }

  // Fills stage_of_.
  absl::Status ReadStages() {
    stage_of_.assign(static_cast<std::size_t>(graph_.operators_size()), -1);
    std::set<std::string> devices;
    for (int stage = 0; stage < plan_.stages_size(); ++stage) {
      for (const v1::Replica& replica : plan_.stages(stage).replicas()) {
        if (devices.insert(replica.device()).second) continue;
        return CannotExpress(target_, absl::StrCat("device ", replica.device(), " holds several stages"));
      }
      for (const std::string& name : plan_.stages(stage).operators()) {
        const auto op = operators_.find(name);
        if (op == operators_.end()) {
          return absl::InvalidArgumentError(absl::StrCat("plan.stages[", stage, "]: the graph has no operator \"", name,
                                                         "\"; give the graph that the plan was made for"));
        }
        stage_of_[static_cast<std::size_t>(op->second)] = stage;
      }
    }
    return absl::OkStatus();
  }

  // Fills layers_ in model order: by the first operator of each label.
  absl::Status ReadLayers() {
    std::map<std::string, std::size_t> known;
    for (const int i : TopologicalOrder(graph_, operators_)) {
      const v1::Operator& op = graph_.operators(i);
      if (!IsLookedAt(op)) continue;
      const int stage = stage_of_[static_cast<std::size_t>(i)];
      if (stage < 0) {
        return absl::InvalidArgumentError(absl::StrCat("the plan holds no operator \"", op.name(),
                                                       "\" of the graph; give the graph that the plan was made for"));
      }
      if (op.layer().empty()) {
        return CannotExpress(target_, absl::StrCat("operator ", op.name(), " has no layer label"));
      }
      const auto [entry, is_new] = known.emplace(op.layer(), layers_.size());
      if (is_new) {
        layers_.push_back({op.layer(), stage, NumberOf(op.layer())});
      } else if (layers_[entry->second].stage != stage) {
        return CannotExpress(
            target_, absl::StrCat("layer ", op.layer(), " is split between the stages ", layers_[entry->second].stage,
                                  " and ", stage, "; plan with --granularity=layer"));
      }
    }
    return absl::OkStatus();
  }

  // The numbered layers are one row 0, 1, 2, ... with nothing between them, in stages that ascend.
  absl::Status CheckNumbers() {
    const auto is_numbered = [](const Layer& layer) { return layer.number.has_value(); };
    first_ = static_cast<std::size_t>(std::find_if(layers_.begin(), layers_.end(), is_numbered) - layers_.begin());
    end_ = layers_.size();
    while (end_ > first_ && !is_numbered(layers_[end_ - 1])) --end_;
    const std::optional<LayerNumber> origin = first_ < end_ ? layers_[first_].number : std::nullopt;
    if (!origin.has_value()) {
      return CannotExpress(target_, "no layer label of the graph ends in a number, such as \"layer.0\"");
    }
    for (std::size_t i = first_; i < end_; ++i) {
      const Layer& layer = layers_[i];
      if (!layer.number.has_value() || layer.number->kind != origin->kind) {
        return CannotExpress(target_, absl::StrCat("the layers ", layers_[first_].label, " and ", layer.label,
                                                   " are of two kinds, and one row of layers is wanted"));
      }
      if (layer.number->number != origin->number + static_cast<int64_t>(i - first_)) {
        return CannotExpress(target_, absl::StrCat("layer ", layer.label, " is out of order"));
      }
    }
    for (std::size_t i = 1; i < layers_.size(); ++i) {
      if (layers_[i - 1].stage <= layers_[i].stage) continue;
      return CannotExpress(target_, absl::StrCat(layers_[i].label, " is in stage ", layers_[i].stage, ", before ",
                                                 layers_[i - 1].label, " in stage ", layers_[i - 1].stage));
    }
    return absl::OkStatus();
  }

  std::vector<StageLayers> Distribute() const {
    std::vector<StageLayers> stages(static_cast<std::size_t>(plan_.stages_size()));
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      StageLayers& stage = stages[static_cast<std::size_t>(layers_[i].stage)];
      if (i < first_) {
        stage.front.push_back(layers_[i].label);
      } else if (i >= end_) {
        stage.back.push_back(layers_[i].label);
      } else {
        if (stage.num_layers == 0) stage.first_layer = i - first_;
        ++stage.num_layers;
      }
    }
    return stages;
  }

  const v1::Graph& graph_;
  const v1::Plan& plan_;
  const std::string_view target_;
  const OperatorIndex operators_;
  std::vector<int> stage_of_;
  std::vector<Layer> layers_;
  // layers_[first_, end_) are the numbered ones.
  std::size_t first_ = 0;
  std::size_t end_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<StageLayers>> LayersOfStages(const v1::Graph& graph, const v1::Plan& plan,
                                                        std::string_view target) {
  return LayerReader(graph, plan, target).Read();
}

absl::Status CheckEnds(const std::vector<StageLayers>& stages, std::string_view target) {
  const auto has_front = [](const StageLayers& stage) { return !stage.front.empty(); };
  if (std::none_of(stages.begin(), stages.end(), has_front)) {
    return CannotExpress(target, "the model begins with a numbered layer, where transformers have an embedding");
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageLayers& stage = stages[i];
    if (i > 0 && !stage.front.empty()) {
      return CannotExpress(target, absl::StrCat(stage.front.front(), " is in stage ", i, ", and must be in the first"));
    }
    if (i + 1 < stages.size() && !stage.back.empty()) {
      return CannotExpress(target, absl::StrCat(stage.back.front(), " is in stage ", i, ", and must be in the last"));
    }
  }
  return absl::OkStatus();
}

}  // namespace planwright::client
