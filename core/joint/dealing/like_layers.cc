#include "core/joint/dealing/like_layers.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/joint/cost/stage_cost.h"

namespace planwright {
namespace {

// Layers are nearly alike where none takes more than such a part longer than the shortest, and what they hold differs
// by no more from what the one in the middle does.
constexpr int64_t kNearlyAlikePart = 4;
constexpr auto kKeptMode = static_cast<std::size_t>(LayerRecomputation::kNone);

using LayerModes = decltype(LayerGroup::modes);

// One of the layers of a kind, and how many there are.
struct LayerKind {
  int32_t layer = 0;
  int32_t count = 0;
};

LayerModes LeastModesOf(const LayerModes& a, const LayerModes& b) {
  LayerModes least = a;
  for (std::size_t mode = 0; mode < least.size(); ++mode) {
    std::optional<LayerMode>& own = least[mode];
    const std::optional<LayerMode>& other = b[mode];
    if (!own.has_value()) own = other;
    if (!own.has_value() || !other.has_value()) continue;
    own->extra_ps = std::min(own->extra_ps, other->extra_ps);
    own->kept_bytes = std::min(own->kept_bytes, other->kept_bytes);
  }
  return least;
}

// No more than either in anything that closed forms and memory of a pipeline depend on.
LayerPrice LeastOf(LayerPrice a, const LayerPrice& b) {
  for (int64_t LayerPrice::*const part :
       {&LayerPrice::forward_ps, &LayerPrice::backward_ps, &LayerPrice::recomputed_bytes, &LayerPrice::workspace_bytes,
        &LayerPrice::parameter_bytes, &LayerPrice::gradient_bytes, &LayerPrice::optimizer_bytes,
        &LayerPrice::gathered_bytes, &LayerPrice::step_end_ps, &LayerPrice::output_bytes}) {
    a.*part = std::min(a.*part, b.*part);
  }
  a.modes = LeastModesOf(a.modes, b.modes);
  return a;
}

int64_t HeldBytesOf(const StageTable& table, const LayerKind& kind) {
  const std::optional<LayerMode>& kept = table.PriceOf(kind.layer).modes[kKeptMode];
  return table.PriceOf(kind.layer).state_bytes() + (kept.has_value() ? kept->kept_bytes : 0);
}

// Those with the most layers that follow each other in time from the shortest of them on.
std::vector<LayerKind> AsLongAsMost(const StageTable& table, const std::map<int32_t, LayerKind>& kinds) {
  std::vector<std::pair<int64_t, LayerKind>> by_time;
  by_time.reserve(kinds.size());
  for (const auto& [number, kind] : kinds) by_time.emplace_back(table.BasePs(kind.layer, kind.layer + 1), kind);
  std::stable_sort(by_time.begin(), by_time.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<LayerKind> most;
  int64_t most_layers = 0;
  int64_t layers = 0;
  auto end = by_time.begin();
  for (auto first = by_time.begin(); first != by_time.end(); ++first) {
    for (; end != by_time.end() && end->first <= first->first + first->first / kNearlyAlikePart; ++end) {
      layers += end->second.count;
    }
    if (layers > most_layers) {
      most_layers = layers;
      most.clear();
      for (auto kind = first; kind != end; ++kind) most.push_back(kind->second);
    }
    layers -= first->second.count;
  }
  return most;
}

// The numbers of those that hold about what the layer in the middle does.
std::set<int32_t> AsLargeAsMost(const StageTable& table, std::vector<LayerKind> kinds) {
  std::stable_sort(kinds.begin(), kinds.end(), [&table](const LayerKind& a, const LayerKind& b) {
    return HeldBytesOf(table, a) < HeldBytesOf(table, b);
  });
  int64_t layers = 0;
  for (const LayerKind& kind : kinds) layers += kind.count;
  int64_t middle = 0;
  for (const LayerKind& kind : kinds) {
    middle = HeldBytesOf(table, kind);
    layers -= int64_t{2} * kind.count;
    if (layers <= 0) break;
  }
  std::set<int32_t> alike;
  for (const LayerKind& kind : kinds) {
    const bool is_near = std::abs(HeldBytesOf(table, kind) - middle) <= middle / kNearlyAlikePart;
    if (is_near) alike.insert(table.KindOf(kind.layer));
  }
  return alike;
}

void DealOut(const StageTable& table, int32_t layer, LikeLayers& alike) {
  const LayerPrice& price = table.PriceOf(layer);
  const LayerModes& modes = table.GroupOf(layer).modes;
  alike.price = alike.count == 0 ? price : LeastOf(alike.price, price);
  alike.group.modes = alike.count == 0 ? modes : LeastModesOf(alike.group.modes, modes);
  alike.longest_forward_ps = std::max(alike.longest_forward_ps, price.forward_ps);
  ++alike.count;
}

}  // namespace

LikeLayers FindLikeLayers(const StageTable& table, int32_t num_layers) {
  LikeLayers alike;
  alike.first = {true, table.PriceOf(0), table.GroupOf(0)};
  alike.last = {true, table.PriceOf(num_layers - 1), table.GroupOf(num_layers - 1)};
  std::map<int32_t, LayerKind> kinds;
  for (int32_t layer = 1; layer + 1 < num_layers; ++layer) {
    ++kinds.try_emplace(table.KindOf(layer), LayerKind{layer, 0}).first->second.count;
  }
  alike.num_kinds = kinds.size();
  const std::set<int32_t> dealt = AsLargeAsMost(table, AsLongAsMost(table, kinds));
  for (int32_t layer = 1; layer + 1 < num_layers; ++layer) {
    if (dealt.contains(table.KindOf(layer))) DealOut(table, layer, alike);
  }
  alike.are_all = alike.count == num_layers - 2;
  const LongestPasses between = table.PassesPs(1, num_layers - 1, false);
  alike.beyond = {between.forward_ps - alike.count * alike.price.forward_ps,
                  between.backward_ps - alike.count * alike.price.backward_ps};
  return alike;
}

}  // namespace planwright
