#include "core/joint/stages/recomputation.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
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

// Options by growing extra time, each keeping less than the one before.
std::vector<Option> ParetoOf(std::vector<Option> options) {
  std::sort(options.begin(), options.end(),
            [](const Option& a, const Option& b) { return std::pair(a.extra, a.kept) < std::pair(b.extra, b.kept); });
  std::vector<Option> kept;
  kept.reserve(options.size());
  for (const Option& option : options) {
    if (kept.empty() || option.kept < kept.back().kept) kept.push_back(option);
  }
  return kept;
}

// All ways to give the layers of the group modes; with one mode, or two, O(count), with three O(count^2).
std::vector<Option> OptionsOf(const LayerGroup& group, bool may_be_full) {
  const auto usable = [&](std::size_t mode) { return group.modes[mode].has_value() && (mode != kFull || may_be_full); };
  const auto cost = [&](std::size_t mode, int32_t count) {
    return count == 0 ? LayerPrice::Mode{}
                      : LayerPrice::Mode{group.modes[mode]->extra_ps * count, group.modes[mode]->kept_bytes * count};
  };
  std::vector<Option> options;
  options.reserve(static_cast<std::size_t>(group.count) + 1);
  for (int32_t full = 0; full <= (usable(kFull) ? group.count : 0); ++full) {
    for (int32_t selective = 0; selective <= (usable(kSelective) ? group.count - full : 0); ++selective) {
      const int32_t none = group.count - full - selective;
      if (none > 0 && !usable(kNone)) continue;
      const LayerPrice::Mode a = cost(kNone, none);
      const LayerPrice::Mode b = cost(kSelective, selective);
      const LayerPrice::Mode c = cost(kFull, full);
      options.push_back(
          {a.extra_ps + b.extra_ps + c.extra_ps, a.kept_bytes + b.kept_bytes + c.kept_bytes, {none, selective, full}});
    }
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
  std::vector<std::vector<Option>> options;
  options.reserve(groups.size());
  for (const LayerGroup& group : groups) {
    options.push_back(OptionsOf(group, may_be_full));
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

// The modes of one layer of the group.
std::vector<Option> ModesOf(const LayerGroup& group) {
  std::vector<Option> modes;
  for (const auto& mode : group.modes) {
    if (mode.has_value()) modes.push_back({mode->extra_ps, mode->kept_bytes, {}});
  }
  return ParetoOf(std::move(modes));
}

}  // namespace

std::optional<int64_t> LeastExtraPs(const std::vector<LayerGroup>& groups, int64_t budget_bytes) {
  std::vector<Step> steps;
  int64_t kept = 0;
  int64_t extra = 0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const std::vector<Option> modes = ModesOf(groups[group]);
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
