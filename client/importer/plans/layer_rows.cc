#include "client/importer/plans/layer_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace planwright::client {
namespace {

// Places of operators that belong to no numbered layer.
constexpr int kFront = -1;
constexpr int kBack = -2;
constexpr int kUnset = -1;

struct Number {
  std::string_view kind;
  int64_t number = 0;
};

std::optional<Number> NumberOf(const std::string& label) {
  const std::size_t digits = label.find_last_not_of("0123456789") + 1;
  Number result;
  if (digits == label.size() || !absl::SimpleAtoi(label.substr(digits), &result.number)) return std::nullopt;
  result.kind = std::string_view(label).substr(0, digits);
  return result;
}

// The place of each FORWARD operator in the row: kFront, kBack or the rank of its layer. `layers`: how many there are.
absl::StatusOr<std::vector<int>> PlacesOf(const v1::Graph& graph, std::size_t& layers) {
  std::optional<std::string_view> kind;
  std::map<int64_t, int> ranks;
  for (const v1::Operator& op : graph.operators()) {
    const auto number = NumberOf(op.layer());
    if (!number.has_value() || op.pass() == v1::PASS_BACKWARD) continue;
    if (kind.value_or(number->kind) != number->kind) {
      return absl::InvalidArgumentError(absl::StrCat("the graph has layers of two kinds, \"", std::string(*kind),
                                                     "\" and \"", std::string(number->kind),
                                                     "\", where the plan counts one row"));
    }
    kind = number->kind;
    ranks.emplace(number->number, 0);
  }
  if (ranks.empty()) {
    return absl::InvalidArgumentError("the graph has no numbered layers, such as \"layer.0\", which the plan counts");
  }
  int rank = 0;
  for (auto& [number, place] : ranks) place = rank++;
  layers = ranks.size();
  std::vector<int> places;
  int before = kFront;
  for (const v1::Operator& op : graph.operators()) {
    const auto number = NumberOf(op.layer());
    if (number.has_value()) {
      before = kBack;
      places.push_back(ranks.at(number->number));
    } else {
      places.push_back(op.type() == "Input" ? kFront : before);
    }
  }
  return places;
}

// The stage of each layer, of the front and of the back.
struct StageIndex {
  std::vector<int> of_layer;
  int of_front = kUnset;
  int of_back = kUnset;

  int StageOf(int place) const {
    if (place == kFront) return of_front;
    return place == kBack ? of_back : of_layer[static_cast<std::size_t>(place)];
  }
};

absl::Status Enter(const std::string& what, int stage, int& entry) {
  if (entry != kUnset) {
    return absl::InvalidArgumentError(absl::StrCat(what, " is in the stages ", entry, " and ", stage, " of the plan"));
  }
  entry = stage;
  return absl::OkStatus();
}

absl::StatusOr<StageIndex> IndexStages(const std::vector<StageOfLayers>& stages, std::size_t layers) {
  StageIndex index{std::vector<int>(layers, kUnset)};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const int stage = static_cast<int>(i);
    absl::Status status;
    if (stages[i].has_front) status = Enter("the embedding", stage, index.of_front);
    if (status.ok() && stages[i].has_back) status = Enter("the head", stage, index.of_back);
    for (const std::size_t layer : stages[i].layers) {
      if (!status.ok()) break;
      if (layer >= layers) {
        return absl::InvalidArgumentError(
            absl::StrCat("the plan has a layer ", layer, ", and the graph ", layers, " layers"));
      }
      status = Enter(absl::StrCat("layer ", layer), stage, index.of_layer[layer]);
    }
    if (!status.ok()) return status;
  }
  const auto missing = std::find(index.of_layer.begin(), index.of_layer.end(), kUnset);
  if (missing != index.of_layer.end()) {
    return absl::InvalidArgumentError(absl::StrCat("the plan has no layer ", missing - index.of_layer.begin(),
                                                   ", and the graph has ", layers, " layers"));
  }
  if (index.of_front == kUnset || index.of_back == kUnset) {
    return absl::InvalidArgumentError("the plan says not where the embedding and the head are");
  }
  return index;
}

}  // namespace

absl::StatusOr<std::vector<std::vector<std::string>>> OperatorsOfStages(const v1::Graph& graph,
                                                                        const std::vector<StageOfLayers>& stages) {
  std::size_t layers = 0;
  const auto places = PlacesOf(graph, layers);
  if (!places.ok()) return places.status();
  const auto index = IndexStages(stages, layers);
  if (!index.ok()) return index.status();
  std::unordered_map<std::string_view, int> stage_of;
  for (int i = 0; i < graph.operators_size(); ++i) {
    stage_of.emplace(graph.operators(i).name(), index->StageOf((*places)[static_cast<std::size_t>(i)]));
  }
  std::vector<std::vector<std::string>> operators(stages.size());
  for (const v1::Operator& op : graph.operators()) {
    const auto forward = stage_of.find(op.forward_operator());
    const bool follows = op.pass() == v1::PASS_BACKWARD && forward != stage_of.end();
    const int stage = follows ? forward->second : stage_of.at(op.name());
    operators[static_cast<std::size_t>(stage)].push_back(op.name());
  }
  return operators;
}

}  // namespace planwright::client
