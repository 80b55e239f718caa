#include "core/verify/joint/chosen_layouts.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "core/base/units.h"

namespace planwright::verify {
namespace {

constexpr double kMostCombinations = 4'096;

// Halves are rounded down.
int64_t Nearest(double picoseconds) { return static_cast<int64_t>(std::floor(std::min(picoseconds, 1e18) + 0.499)); }

double ExchangePs(double received, const MachineLink& link, double speed, double shown) {
  if (received <= 0) return 0;
  return shown * (received / speed * 1e12 + static_cast<double>(link.latency_ps));
}

}  // namespace

ChosenLayouts::ChosenLayouts(const OperatorGraph& graph, const std::vector<std::optional<std::size_t>>& layer_of)
    : graph_(graph), layer_of_(layer_of) {
  has_any_ = std::any_of(graph.operators.begin(), graph.operators.end(), [](const Operator& op) {
    return std::any_of(op.variants.begin(), op.variants.end(), [](const OperatorVariant& variant) {
      return !variant.input_layout.empty() || !variant.output_layout.empty();
    });
  });
}

bool ChosenLayouts::IsIn(OperatorId op, std::size_t layer) const {
  return layer_of_[op.index()] == layer && graph_.operators[op.index()].pass == Pass::kForward;
}

bool ChosenLayouts::HasLayouts(std::size_t layer) const {
  if (!has_any_) return false;
  for (std::size_t op = 0; op < layer_of_.size(); ++op) {
    if (layer_of_[op] != layer) continue;
    for (const OperatorVariant& variant : graph_.operators[op].variants) {
      if (!variant.input_layout.empty() || !variant.output_layout.empty()) return true;
    }
  }
  return false;
}

std::vector<std::size_t> ChosenLayouts::OrderOf(std::size_t layer) const {
  std::map<std::string, std::size_t> left;
  for (std::size_t op = 0; op < layer_of_.size(); ++op) {
    if (IsIn(OperatorId(op), layer)) left.emplace(graph_.operators[op].name, op);
  }
  std::vector<std::size_t> order;
  while (!left.empty()) {
    std::set<std::size_t> waiting;
    for (const Tensor& tensor : graph_.tensors) {
      if (!left.contains(graph_.operators[tensor.producer.index()].name)) continue;
      for (const OperatorId consumer : tensor.consumers) waiting.insert(consumer.index());
    }
    const auto next =
        std::find_if(left.begin(), left.end(), [&](const auto& entry) { return !waiting.contains(entry.second); });
    order.push_back(next->second);
    left.erase(next);
  }
  return order;
}

double ChosenLayouts::Received(const Tensor& tensor, const LayoutPair* made, const LayoutPair* read,
                               int64_t samples) const {
  const std::string from = made == nullptr ? "" : made->second;
  const std::string to = read == nullptr ? "" : read->first;
  for (const LayoutChange& change : graph_.layout_changes) {
    if (from == to || change.from != from || change.to != to) continue;
    const double factor = static_cast<double>(samples) / static_cast<double>(graph_.samples_per_micro_batch);
    return factor * (change.share * static_cast<double>(tensor.size_bytes));
  }
  return 0;
}

template <typename Visit>
void ChosenLayouts::ForEachEdge(std::size_t layer, Visit visit) const {
  for (const Tensor& tensor : graph_.tensors) {
    const bool is_made = IsIn(tensor.producer, layer);
    const auto maker = is_made ? std::optional(tensor.producer.index()) : std::nullopt;
    bool is_read_elsewhere = false;
    for (const OperatorId consumer : tensor.consumers) {
      if (IsIn(consumer, layer)) {
        visit(tensor, maker, std::optional(consumer.index()));
      } else if (graph_.operators[consumer.index()].pass == Pass::kForward) {
        is_read_elsewhere = true;
      }
    }
    if (is_made && is_read_elsewhere) visit(tensor, maker, std::optional<std::size_t>());
  }
}

// The least that the operators from a place of the order on take, by what those before them have.
struct ChosenLayouts::Walk {
  using Choice = std::vector<std::size_t>;

  std::vector<std::size_t> order;
  // By place.
  std::vector<std::vector<LayoutPair>> layouts;
  std::vector<std::vector<int64_t>> own;
  // By place of the reader: place of the maker, times by both choices.
  std::vector<std::vector<std::pair<std::size_t, std::vector<std::vector<int64_t>>>>> inner;
  // By place, the places before it whose tensors are read from it on.
  std::vector<std::vector<std::size_t>> open;
  std::map<std::pair<std::size_t, Choice>, int64_t> known;

  int64_t TimeAt(std::size_t place, const Choice& chosen, std::size_t choice) const {
    int64_t time = own[place][choice];
    for (const auto& [maker, times] : inner[place]) time = SaturatingAdd(time, times[chosen[maker]][choice]);
    return time;
  }

  // `chosen` has the choices of all places before.
  int64_t Rest(std::size_t place, Choice& chosen) {
    if (place == order.size()) return 0;
    Choice state;
    for (const std::size_t before : open[place]) state.push_back(chosen[before]);
    const auto found = known.find({place, state});
    if (found != known.end()) return found->second;
    int64_t least = INT64_MAX;
    for (std::size_t choice = 0; choice < layouts[place].size(); ++choice) {
      const int64_t time = TimeAt(place, chosen, choice);
      chosen.push_back(choice);
      least = std::min(least, SaturatingAdd(time, Rest(place + 1, chosen)));
      chosen.pop_back();
    }
    return known[{place, state}] = least;
  }

  bool IsTooMuch() const {
    for (const std::vector<std::size_t>& places : open) {
      double combinations = 1;
      for (const std::size_t place : places) combinations *= static_cast<double>(layouts[place].size());
      if (combinations > kMostCombinations) return true;
    }
    return false;
  }

  // The first choices that take the least.
  Choice Best() {
    Choice chosen;
    if (IsTooMuch()) {
      chosen.assign(order.size(), 0);
      return chosen;
    }
    for (std::size_t place = 0; place < order.size(); ++place) {
      const int64_t least = Rest(place, chosen);
      for (std::size_t choice = 0; choice < layouts[place].size(); ++choice) {
        const int64_t time = TimeAt(place, chosen, choice);
        chosen.push_back(choice);
        if (SaturatingAdd(time, Rest(place + 1, chosen)) == least) break;
        chosen.pop_back();
      }
    }
    return chosen;
  }
};

std::map<std::size_t, LayoutPair> ChosenLayouts::Of(std::size_t layer, const DeviceClass& device,
                                                    const TrainingEfficiency& efficiency,
                                                    const RankSpread& spread) const {
  std::map<std::size_t, LayoutPair> chosen;
  if (!HasLayouts(layer)) return chosen;
  Walk walk;
  walk.order = OrderOf(layer);
  std::map<std::size_t, std::size_t> place_of;
  for (const std::size_t op : walk.order) {
    place_of.emplace(op, walk.layouts.size());
    walk.layouts.push_back(LayoutsOf(graph_.operators[op], device, spread.degrees));
    std::vector<int64_t>& own = walk.own.emplace_back();
    for (const LayoutPair& layouts : walk.layouts.back()) {
      const auto part = PartOf(graph_.operators[op], graph_, device, spread.degrees, spread.samples, layouts);
      own.push_back(part.has_value() ? Nearest(part->forward + part->backward) : 0);
    }
    if (own.empty()) return chosen;
  }
  walk.inner.resize(walk.order.size());
  walk.open.resize(walk.order.size() + 1);
  // As if all ranks shared a node.
  const bool is_one = int64_t{spread.degrees.tensor} * spread.degrees.context == 1;
  const double speed = spread.inside.bytes_per_second * efficiency.network;
  const auto time = [&](const Tensor& tensor, const LayoutPair* made, const LayoutPair* read) {
    const double received = is_one ? 0 : Received(tensor, made, read, spread.samples);
    return Nearest(2 * ExchangePs(received, spread.inside, speed, 1 - efficiency.hidden_in_layers));
  };
  std::vector<std::size_t> last(walk.order.size(), 0);
  ForEachEdge(layer, [&](const Tensor& tensor, std::optional<std::size_t> maker, std::optional<std::size_t> reader) {
    if (maker.has_value() && reader.has_value()) {
      const std::size_t from = place_of.at(*maker);
      const std::size_t to = place_of.at(*reader);
      last[from] = std::max(last[from], to);
      std::vector<std::vector<int64_t>> times;
      for (const LayoutPair& made : walk.layouts[from]) {
        times.emplace_back();
        for (const LayoutPair& read : walk.layouts[to]) times.back().push_back(time(tensor, &made, &read));
      }
      walk.inner[to].emplace_back(from, std::move(times));
      return;
    }
    const std::size_t place = place_of.at(maker.has_value() ? *maker : *reader);
    for (std::size_t choice = 0; choice < walk.layouts[place].size(); ++choice) {
      const LayoutPair* pair = &walk.layouts[place][choice];
      const int64_t more = maker.has_value() ? time(tensor, pair, nullptr) : time(tensor, nullptr, pair);
      walk.own[place][choice] = SaturatingAdd(walk.own[place][choice], more);
    }
  });
  for (std::size_t place = 0; place < walk.order.size(); ++place) {
    if (walk.layouts[place].size() < 2) continue;
    for (std::size_t behind = place + 1; behind <= last[place]; ++behind) walk.open[behind].push_back(place);
  }
  const Walk::Choice best = walk.Best();
  for (std::size_t place = 0; place < best.size(); ++place)
    chosen[walk.order[place]] = walk.layouts[place][best[place]];
  return chosen;
}

double ChosenLayouts::ChangesPs(std::size_t layer, const std::map<std::size_t, LayoutPair>& chosen,
                                const TrainingEfficiency& efficiency, const RankSpread& spread) const {
  const int64_t ranks = int64_t{spread.degrees.tensor} * spread.degrees.context;
  if (chosen.empty() || ranks == 1) return 0;
  const int64_t fewest = RanksTogetherIn(ranks, 1, spread).fewest;
  const bool leaves = fewest < ranks;
  double speed = spread.inside.bytes_per_second * efficiency.network;
  if (leaves) {
    speed = std::min(speed, static_cast<double>(fewest) * (spread.between.bytes_per_second * efficiency.network));
  }
  const auto layouts_of = [&](std::optional<std::size_t> op) { return op.has_value() ? &chosen.at(*op) : nullptr; };
  double changes = 0;
  ForEachEdge(layer, [&](const Tensor& tensor, std::optional<std::size_t> maker, std::optional<std::size_t> reader) {
    const double received = Received(tensor, layouts_of(maker), layouts_of(reader), spread.samples);
    changes += ExchangePs(received, leaves ? spread.between : spread.inside, speed, 1 - efficiency.hidden_in_layers);
  });
  return changes;
}

}  // namespace planwright::verify
