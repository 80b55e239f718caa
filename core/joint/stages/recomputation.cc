#include "core/joint/stages/recomputation.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/units.h"

namespace planwright {
namespace {

using Counts = std::array<int32_t, kNumRecomputations>;
constexpr int64_t kMaxNodes = 4'000;
constexpr auto kNone = static_cast<std::size_t>(LayerRecomputation::kNone);
constexpr auto kSelective = static_cast<std::size_t>(LayerRecomputation::kSelective);
constexpr auto kFull = static_cast<std::size_t>(LayerRecomputation::kFull);

__extension__ using Wide = __int128;

// A way to compute again layers of one group.
struct Option {
  int64_t extra = 0;
  int64_t kept = 0;
  Counts counts{};
};

// Options by growing extra time, each keeping less than the one before; of those that are equal in both the one with
// the fewest layers computed again whole, then in part.
std::vector<Option> ParetoOf(std::vector<Option> options) {
  const auto key = [](const Option& option) {
    return std::tuple(option.extra, option.kept, option.counts[kFull], option.counts[kSelective]);
  };
  std::sort(options.begin(), options.end(), [&](const Option& a, const Option& b) { return key(a) < key(b); });
  std::vector<Option> kept;
  kept.reserve(options.size());
  for (const Option& option : options) {
    if (kept.empty() || option.kept < kept.back().kept) kept.push_back(option);
  }
  return kept;
}

// The modes of one layer that no other mode beats, each with its layer counted, so ordered as ParetoOf orders options.
std::vector<Option> UnbeatenModes(const LayerGroup& group, bool may_be_full) {
  std::vector<Option> modes;
  for (std::size_t mode = 0; mode < kNumRecomputations; ++mode) {
    const std::optional<LayerMode>& own = group.modes[mode];
    if (!own.has_value() || (mode == kFull && !may_be_full)) continue;
    Option& one = modes.emplace_back(Option{own->extra_ps, own->kept_bytes, {}});
    one.counts[mode] = 1;
  }
  return ParetoOf(std::move(modes));
}

// So many layers in each of the modes.
Option Combined(const std::vector<Option>& modes, const std::array<int32_t, kNumRecomputations>& layers) {
  Option sum;
  for (std::size_t at = 0; at < modes.size(); ++at) {
    sum.extra += modes[at].extra * layers[at];
    sum.kept += modes[at].kept * layers[at];
    for (std::size_t mode = 0; mode < kNumRecomputations; ++mode) {
      sum.counts[mode] += modes[at].counts[mode] * layers[at];
    }
  }
  return sum;
}

// p / q.
using Fraction = std::pair<int64_t, int64_t>;

// The fraction from `low` to `high` of which both parts are least (the first one of the Stern-Brocot tree).
// REQUIRES: 0 < low <= high.
Fraction SimplestBetween(const Fraction& low, const Fraction& high) {
  const int64_t whole = low.first / low.second;
  if (low.first % low.second == 0) return {whole, 1};
  if (high.first / high.second > whole) return {whole + 1, 1};
  const auto [p, q] = SimplestBetween({high.second, high.first % high.second}, {low.second, low.first % low.second});
  return {whole * p + q, p};
}

// What can always be exchanged at no loss among the layers of a group with three modes: p of them in the middle mode
// against q in the last and p - q in the first. The least such p and q, which leave out the most ways to mix modes.
struct Exchange {
  // The middle mode is the better side; else the other one is.
  bool for_middle = false;
  int64_t p = 1;
  int64_t q = 1;
};

// REQUIRES: three modes, as UnbeatenModes orders them.
Exchange ExchangeOf(const std::vector<Option>& modes) {
  const Fraction extra(modes[2].extra - modes[0].extra, modes[1].extra - modes[0].extra);
  const Fraction saved(modes[0].kept - modes[2].kept, modes[0].kept - modes[1].kept);
  const Wide by_extra = Wide{extra.first} * saved.second;
  const Wide by_saved = Wide{saved.first} * extra.second;
  // Where both are as good, fewer layers are computed again whole.
  const bool for_middle = by_extra > by_saved || (by_extra == by_saved && modes[1].counts[kFull] == 0);
  const auto [p, q] = by_extra > by_saved ? SimplestBetween(saved, extra) : SimplestBetween(extra, saved);
  return {for_middle, p, q};
}

// Ways to give `count` layers three modes, without those that an exchange makes no worse: it needs p layers in the
// middle mode, or q in the last and p - q in the first.
std::vector<Option> MixesOf(const std::vector<Option>& modes, int32_t count) {
  const Exchange exchange = ExchangeOf(modes);
  std::vector<Option> options;
  for (int32_t last = 0; last <= count; ++last) {
    const int32_t rest = count - last;
    int64_t most = rest;
    if (!exchange.for_middle) most = std::min(most, exchange.p - 1);
    if (exchange.for_middle && last >= exchange.q) most = std::min(most, exchange.p - exchange.q - 1);
    for (int32_t taken = 0; taken <= most; ++taken) {
      const int32_t middle = exchange.for_middle ? rest - taken : taken;
      options.push_back(Combined(modes, {rest - middle, middle, last}));
    }
  }
  return options;
}

// Ways to give so many layers the modes, among them all that no other way beats. O(count) with one mode, or two; with
// three as a rule as well, O(count^2) where their prices are nearly in proportion.
std::vector<Option> OptionsOf(const std::vector<Option>& modes, int32_t count) {
  if (modes.size() == 1) return {Combined(modes, {count, 0, 0})};
  if (modes.size() == 3) return ParetoOf(MixesOf(modes, count));
  std::vector<Option> options;
  options.reserve(static_cast<std::size_t>(count) + 1);
  for (int32_t last = 0; last <= count; ++last) options.push_back(Combined(modes, {count - last, last, 0}));
  return options;
}

// Of three modes those ways that fit within `room` with as few layers as can be in the middle mode, for every number in
// the last: where nothing else is to be chosen, the best one is among them. O(count).
std::vector<Option> OptionsWithin(const std::vector<Option>& modes, int32_t count, int64_t room) {
  std::vector<Option> options;
  options.reserve(static_cast<std::size_t>(count) + 1);
  for (int32_t last = 0; last <= count; ++last) {
    const int32_t rest = count - last;
    const int64_t missing = modes[0].kept * rest + modes[2].kept * last - room;
    const int64_t middle = missing <= 0 ? 0 : CeilDivide(missing, modes[0].kept - modes[1].kept);
    if (middle > rest) continue;
    const auto taken = static_cast<int32_t>(middle);
    options.push_back(Combined(modes, {rest - taken, taken, last}));
  }
  return ParetoOf(std::move(options));
}

// One step along the lower hull of a group's options.
struct Step {
  std::size_t group = 0;
  std::size_t from = 0;
  std::size_t to = 0;
  int64_t extra = 0;
  int64_t saved = 0;
};

bool IsSteeper(const Step& a, const Step& b) { return Wide{a.extra} * b.saved > Wide{b.extra} * a.saved; }

// The lower hull of (kept, extra).
std::vector<Step> HullOf(std::size_t group, const std::vector<Option>& options) {
  std::vector<Step> hull;
  for (std::size_t to = 1; to < options.size(); ++to) {
    Step step{group, to - 1, to, options[to].extra - options[to - 1].extra, options[to - 1].kept - options[to].kept};
    while (!hull.empty() && !IsSteeper(step, hull.back())) {
      step = {group, hull.back().from, to, step.extra + hull.back().extra, step.saved + hull.back().saved};
      hull.pop_back();
    }
    hull.push_back(step);
  }
  return hull;
}

// Branch and bound, group by group.
class Knapsack {
 public:
  Knapsack(std::vector<std::vector<Option>> groups, int64_t budget) : groups_(std::move(groups)), budget_(budget) {
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      const std::vector<Step> hull = HullOf(group, groups_[group]);
      steps_.insert(steps_.end(), hull.begin(), hull.end());
    }
    std::stable_sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) { return IsSteeper(b, a); });
    least_kept_.assign(groups_.size() + 1, 0);
    for (std::size_t group = groups_.size(); group-- > 0;) {
      least_kept_[group] = least_kept_[group + 1] + groups_[group].back().kept;
    }
    LowerBudget();
  }

  // The best choice, and whether it is proven; nullopt: nothing fits.
  std::optional<RecomputationChoice> Solve() {
    if (least_kept_[0] > budget_) return std::nullopt;
    const Relaxation root = Relax(0, budget_);
    best_ = root.rounded_extra;
    best_choice_ = root.rounded;
    chosen_.assign(groups_.size(), 0);
    if (root.bound < best_) Branch(0, 0, budget_);
    RecomputationChoice choice{nodes_ > kMaxNodes ? root.bound : best_, best_, {}};
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      choice.counts.push_back(groups_[group][best_choice_[group]].counts);
    }
    return choice;
  }

 private:
  // Lowers it to what choices can keep together: what they save are multiples of one number. Where all layers save the
  // same, whatever they take, the relaxation is exact then.
  void LowerBudget() {
    int64_t most = 0;
    int64_t unit = 0;
    for (const std::vector<Option>& options : groups_) {
      most += options.front().kept;
      for (const Option& option : options) unit = std::gcd(unit, options.front().kept - option.kept);
    }
    if (unit > 0 && most > budget_) budget_ = most - CeilDivide(most - budget_, unit) * unit;
  }

  struct Relaxation {
    int64_t bound = kBeyondAll;
    int64_t rounded_extra = kBeyondAll;
    std::vector<std::size_t> rounded;
  };

  // Groups from `first` on within `budget`: steps by what a byte costs, the last one in part (bound) or whole.
  Relaxation Relax(std::size_t first, int64_t budget) const {
    Relaxation relaxation;
    relaxation.rounded.assign(groups_.size(), 0);
    int64_t kept = 0;
    int64_t extra = 0;
    for (std::size_t group = first; group < groups_.size(); ++group) {
      kept += groups_[group].front().kept;
      extra += groups_[group].front().extra;
    }
    relaxation.bound = extra;
    for (const Step& step : steps_) {
      if (kept <= budget) break;
      if (step.group < first) continue;
      const int64_t used = std::min(step.saved, kept - budget);
      relaxation.bound = extra + static_cast<int64_t>((Wide{step.extra} * used + step.saved - 1) / step.saved);
      kept -= step.saved;
      extra += step.extra;
      relaxation.rounded[step.group] = step.to;
    }
    relaxation.rounded_extra = extra;
    return relaxation;
  }

  void Branch(std::size_t group, int64_t extra, int64_t budget) {
    if (++nodes_ > kMaxNodes) return;
    if (group == groups_.size()) {
      if (extra >= best_) return;
      best_ = extra;
      best_choice_ = chosen_;
      return;
    }
    for (std::size_t option = 0; option < groups_[group].size(); ++option) {
      const Option& taken = groups_[group][option];
      const int64_t left = budget - taken.kept;
      if (extra + taken.extra >= best_) return;
      if (left < least_kept_[group + 1]) continue;
      chosen_[group] = option;
      const Relaxation rest = Relax(group + 1, left);
      if (extra + taken.extra + rest.rounded_extra < best_) {
        best_ = extra + taken.extra + rest.rounded_extra;
        best_choice_ = chosen_;
        std::copy(rest.rounded.begin() + static_cast<std::ptrdiff_t>(group) + 1, rest.rounded.end(),
                  best_choice_.begin() + static_cast<std::ptrdiff_t>(group) + 1);
      }
      if (extra + taken.extra + rest.bound < best_) Branch(group + 1, extra + taken.extra, left);
    }
  }

  std::vector<std::vector<Option>> groups_;
  int64_t budget_;
  std::vector<Step> steps_;
  std::vector<int64_t> least_kept_;
  int64_t best_ = kBeyondAll;
  int64_t nodes_ = 0;
  std::vector<std::size_t> chosen_;
  std::vector<std::size_t> best_choice_;
};

std::optional<RecomputationChoice> SolveWithin(const std::vector<LayerGroup>& groups, int64_t in_flight, int64_t budget,
                                               bool may_be_full) {
  if (budget < 0) return std::nullopt;
  std::vector<std::vector<Option>> modes;
  modes.reserve(groups.size());
  int64_t room = budget / in_flight;
  std::size_t choices = 0;
  for (const LayerGroup& group : groups) {
    modes.push_back(UnbeatenModes(group, may_be_full));
    if (modes.back().empty()) return std::nullopt;
    if (modes.back().size() == 1) room -= modes.back().front().kept * group.count;
    choices += modes.back().size() == 1 ? 0 : 1;
  }
  std::vector<std::vector<Option>> options;
  options.reserve(groups.size());
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const bool is_alone = choices == 1 && modes[group].size() == 3;
    options.push_back(is_alone ? OptionsWithin(modes[group], groups[group].count, room)
                               : OptionsOf(modes[group], groups[group].count));
    if (options.back().empty()) return std::nullopt;
  }
  return Knapsack(std::move(options), budget / in_flight).Solve();
}

// Nothing is computed again, if that is possible and costs nothing.
std::optional<RecomputationChoice> WithoutAny(const std::vector<LayerGroup>& groups, int64_t in_flight,
                                              int64_t budget) {
  int64_t kept = 0;
  RecomputationChoice choice;
  for (const LayerGroup& group : groups) {
    const auto& mode = group.modes[kNone];
    if (!mode.has_value() || mode->extra_ps != 0) return std::nullopt;
    kept += mode->kept_bytes * group.count;
    choice.counts.push_back({group.count, 0, 0});
  }
  return kept <= budget / in_flight ? std::optional(std::move(choice)) : std::nullopt;
}

bool UsesFull(const RecomputationChoice& choice) {
  return std::any_of(choice.counts.begin(), choice.counts.end(),
                     [](const Counts& counts) { return counts[kFull] > 0; });
}

}  // namespace

std::optional<int64_t> LeastExtraPs(const std::vector<LayerGroup>& groups, int64_t budget_bytes) {
  std::vector<Step> steps;
  int64_t kept = 0;
  int64_t extra = 0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const std::vector<Option> modes = UnbeatenModes(groups[group], true);
    kept += groups[group].count * modes.front().kept;
    extra += groups[group].count * modes.front().extra;
    const std::vector<Step> hull = HullOf(group, modes);
    steps.insert(steps.end(), hull.begin(), hull.end());
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return IsSteeper(b, a); });
  for (const Step& step : steps) {
    const int64_t count = groups[step.group].count;
    if (kept <= budget_bytes) return extra;
    if (kept - count * step.saved <= budget_bytes) {
      return extra + static_cast<int64_t>(Wide{step.extra} * (kept - budget_bytes) / step.saved);
    }
    kept -= count * step.saved;
    extra += count * step.extra;
  }
  return kept <= budget_bytes ? std::optional(extra) : std::nullopt;
}

std::optional<RecomputationChoice> ChooseRecomputation(const std::vector<LayerGroup>& groups, int64_t in_flight,
                                                       int64_t budget_bytes, int64_t full_budget_bytes) {
  if (budget_bytes >= 0) {
    std::optional<RecomputationChoice> nothing = WithoutAny(groups, in_flight, budget_bytes);
    if (nothing.has_value()) return nothing;
  }
  std::optional<RecomputationChoice> without = SolveWithin(groups, in_flight, budget_bytes, false);
  std::optional<RecomputationChoice> with = SolveWithin(groups, in_flight, full_budget_bytes, true);
  if (!with.has_value()) return without;
  if (!without.has_value()) return with;
  const bool is_without = without->extra_ps <= with->extra_ps || !UsesFull(*with);
  const int64_t bound_ps = std::min(without->bound_ps, with->bound_ps);
  RecomputationChoice best = is_without ? *std::move(without) : *std::move(with);
  best.bound_ps = bound_ps;
  return best;
}

}  // namespace planwright
