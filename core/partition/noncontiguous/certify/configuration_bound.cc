#include "core/partition/noncontiguous/certify/configuration_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>

#include "core/base/index.h"

namespace planwright {
namespace {

// First groups that are tried, spread over all.
constexpr int32_t kStarts = 8;
// Groups of a net whose groups are looked at next.
constexpr int32_t kLargestGuide = 16;
constexpr int32_t kNowhere = -1;

enum class TieRule { kOldestNet, kNewestNet };

class GreedyOrder {
 public:
  GreedyOrder(const LoadRelaxation& relaxation, const std::vector<std::vector<int32_t>>& nets_of)
      : relaxation_(relaxation), nets_of_(nets_of) {}

  // Fills place_of(). The cost; infinity: it is at least `limit`, or more than `most_open` nets are open somewhere.
  double Run(int32_t start, TieRule rule, double limit, int32_t most_open) {
    rule_ = rule;
    cost_ = 0;
    open_ = 0;
    place_of_.assign(nets_of_.size(), kNowhere);
    placed_on_.assign(relaxation_.nets.size(), 0);
    opened_at_.assign(relaxation_.nets.size(), 0);
    candidates_.clear();
    for (int32_t place = 0; place < relaxation_.num_groups(); ++place) {
      Place(place == 0 ? start : Next(), place);
      if (open_ > most_open || cost_ >= limit) return std::numeric_limits<double>::infinity();
    }
    return cost_;
  }

  const std::vector<int32_t>& place_of() const { return place_of_; }

 private:
  int32_t Size(int32_t net) const { return static_cast<int32_t>(relaxation_.nets[Index(net)].blocks.size()); }

  // By how many more nets are open afterwards, then by the tie rule.
  std::tuple<int32_t, int32_t, int32_t> KeyOf(int32_t group) const {
    int32_t change = 0;
    int32_t oldest = std::numeric_limits<int32_t>::max();
    int32_t newest = 0;
    for (const int32_t net : nets_of_[Index(group)]) {
      const int32_t placed = placed_on_[Index(net)];
      if (placed == 0) ++change;
      if (placed + 1 == Size(net)) --change;
      if (placed == 0) continue;
      oldest = std::min(oldest, opened_at_[Index(net)]);
      newest = std::max(newest, opened_at_[Index(net)]);
    }
    return {change, rule_ == TieRule::kOldestNet ? oldest : -newest, group};
  }

  int32_t Next() const {
    if (!candidates_.empty()) {
      return *std::ranges::min_element(candidates_, {}, [this](int32_t group) { return KeyOf(group); });
    }
    return static_cast<int32_t>(std::ranges::find(place_of_, kNowhere) - place_of_.begin());
  }

  void Place(int32_t group, int32_t place) {
    place_of_[Index(group)] = place;
    std::erase(candidates_, group);
    for (const int32_t net : nets_of_[Index(group)]) {
      if (placed_on_[Index(net)]++ == 0) {
        opened_at_[Index(net)] = place;
        ++open_;
        AddCandidates(net);
      }
      if (placed_on_[Index(net)] == Size(net)) --open_;
    }
    cost_ += std::exp2(static_cast<double>(open_));
  }

  void AddCandidates(int32_t net) {
    if (Size(net) > kLargestGuide) return;
    for (const int32_t other : relaxation_.nets[Index(net)].blocks) {
      const bool is_new =
          place_of_[Index(other)] == kNowhere && std::ranges::find(candidates_, other) == candidates_.end();
      if (is_new) candidates_.push_back(other);
    }
  }

  const LoadRelaxation& relaxation_;
  const std::vector<std::vector<int32_t>>& nets_of_;
  TieRule rule_ = TieRule::kOldestNet;
  std::vector<int32_t> place_of_;
  // By net: how many of its groups are placed, and where the first is.
  std::vector<int32_t> placed_on_;
  std::vector<int32_t> opened_at_;
  // Groups on open nets of few groups.
  std::vector<int32_t> candidates_;
  int32_t open_ = 0;
  double cost_ = 0;
};

// Fine enough for the rounding of single prices not to matter; times some thousand payers it fits.
constexpr double kPriceSum = static_cast<double>(int64_t{1} << 44U);
// The norm of the first step, as a share of the norm of prices that are all equal.
constexpr double kFirstStep = 0.06;
constexpr double kStepDecay = 0.7;
constexpr int kFailuresBeforeDecay = 12;
// Steps get their direction from several sets at once: the last one of many that are worth the same says little.
constexpr double kMemory = 0.7;

// Levels of the loads, and how many sets a budget is to suffice for.
constexpr int64_t kFewestLevels = 128;
constexpr int64_t kMostLevels = 4096;
constexpr int64_t kSetsOfABudget = 12;

constexpr int32_t kMostPackedGroups = 3'000;

int64_t LevelsFor(int64_t budget, std::size_t groups, double states) {
  const double each = 2 * states * static_cast<double>(groups) * static_cast<double>(kSetsOfABudget);
  return static_cast<int64_t>(std::min(static_cast<double>(budget) / each, static_cast<double>(kMostLevels)));
}

LoadRelaxation InNarrowOrder(const LoadRelaxation& relaxation) {
  if (relaxation.num_groups() > kMostPackedGroups) return {};
  const std::vector<int32_t> place_of = NarrowOrder(relaxation, SetPricing::kMostOpenNets);
  return place_of.empty() ? LoadRelaxation() : ContractGroups(relaxation, place_of, relaxation.num_groups());
}

void Normalize(std::vector<double>& prices) {
  const double sum = std::accumulate(prices.begin(), prices.end(), 0.0);
  for (double& price : prices) price = sum > 0 ? price / sum : 1.0 / static_cast<double>(prices.size());
}

}  // namespace

std::vector<int32_t> NarrowOrder(const LoadRelaxation& relaxation, int32_t most_open) {
  const int32_t num_groups = relaxation.num_groups();
  std::vector<std::vector<int32_t>> nets_of(Index(num_groups));
  for (std::size_t net = 0; net < relaxation.nets.size(); ++net) {
    for (const int32_t group : relaxation.nets[net].blocks) nets_of[Index(group)].push_back(static_cast<int32_t>(net));
  }
  std::vector<int32_t> best;
  double least_cost = std::numeric_limits<double>::infinity();
  GreedyOrder order(relaxation, nets_of);
  for (int32_t start = 0; start < std::min(kStarts, num_groups); ++start) {
    for (const TieRule rule : {TieRule::kOldestNet, TieRule::kNewestNet}) {
      const auto group = static_cast<int32_t>(int64_t{num_groups - 1} * start / (kStarts - 1));
      const double cost = order.Run(group, rule, least_cost, most_open);
      if (cost >= least_cost) continue;
      best = order.place_of();
      least_cost = cost;
    }
  }
  return best;
}

ConfigurationBound::ConfigurationBound(const LoadRelaxation& relaxation)
    : relaxation_(InNarrowOrder(relaxation)),
      pricing_(relaxation_),
      direction_(relaxation_.payer_time.size(), 0),
      step_(kFirstStep / std::sqrt(std::max<double>(1, static_cast<double>(relaxation_.payer_time.size())))) {
  // The times themselves are the prices of the work bound.
  for (std::size_t group = 0; group < relaxation_.payer_time.size(); ++group) {
    const bool can_pay = relaxation_.payer_time[group] < LoadRelaxation::kNever;
    prices_.push_back(static_cast<double>(can_pay ? relaxation_.payer_time[group] : relaxation_.other_time[group]));
  }
  Normalize(prices_);
}

std::vector<int64_t> ConfigurationBound::RoundedPrices() const {
  return Mapped(prices_, [](double price) { return int64_t{std::llround(price * kPriceSum)}; });
}

int64_t ConfigurationBound::WorthOfOthers(const std::vector<int64_t>& prices, int64_t max_load,
                                          std::vector<double>& shares) const {
  const int64_t capacity = std::min(SaturatingMultiply(max_load, relaxation_.num_others), LoadRelaxation::kNever - 1);
  std::vector<std::size_t> by_worth;
  for (std::size_t group = 0; group < prices.size(); ++group) {
    if (relaxation_.other_time[group] <= capacity) by_worth.push_back(group);
  }
  const auto worth = [&](std::size_t group) {
    return static_cast<double>(prices[group]) / std::max<double>(1, static_cast<double>(relaxation_.other_time[group]));
  };
  std::ranges::stable_sort(by_worth, [&](std::size_t a, std::size_t b) { return worth(a) > worth(b); });
  shares.assign(prices.size(), 0);
  int64_t left = capacity;
  int64_t value = 0;
  for (const std::size_t group : by_worth) {
    const int64_t time = relaxation_.other_time[group];
    if (time <= left) {
      shares[group] = 1;
      value += prices[group];
      left -= time;
    } else if (left > 0) {
      shares[group] = static_cast<double>(left) / static_cast<double>(time);
      // Rounded up, and one more for the order, which is that of doubles.
      value += static_cast<int64_t>(shares[group] * static_cast<double>(prices[group])) + 2;
      left = 0;
    }
  }
  return value;
}

// Down the mean subgradient: groups that the sets hold more often than once get cheaper, others dearer.
void ConfigurationBound::Move(const SetPricing::Result& set, const std::vector<double>& shares) {
  double norm = 0;
  for (std::size_t group = 0; group < prices_.size(); ++group) {
    const double held = set.holds[group] ? static_cast<double>(relaxation_.num_payers) : 0;
    direction_[group] = kMemory * direction_[group] + (1 - kMemory) * (held + shares[group] - 1);
    norm += direction_[group] * direction_[group];
  }
  if (norm == 0) return;
  const double factor = step_ / std::sqrt(norm);
  for (std::size_t group = 0; group < prices_.size(); ++group) {
    prices_[group] = std::max(0.0, prices_[group] - factor * direction_[group]);
  }
  Normalize(prices_);
}

RefutationVerdict ConfigurationBound::Refute(int64_t max_load, StepBudget& budget, Poller& poller) {
  if (prices_.empty()) return RefutationVerdict::kStopped;
  const int64_t levels = LevelsFor(budget.left, prices_.size(), pricing_.mean_states());
  if (levels < kFewestLevels) return RefutationVerdict::kStopped;
  double least_excess = std::numeric_limits<double>::infinity();
  std::vector<double> best_prices = prices_;
  std::vector<double> shares;
  for (int failures = 0;;) {
    const std::vector<int64_t> prices = RoundedPrices();
    const std::optional<SetPricing::Result> set = pricing_.Best(prices, max_load, levels, budget, poller);
    if (!set.has_value()) break;
    const int64_t held = relaxation_.num_payers * set->value + WorthOfOthers(prices, max_load, shares);
    const int64_t excess = held - std::accumulate(prices.begin(), prices.end(), int64_t{0});
    if (excess < 0) return RefutationVerdict::kRefuted;
    if (static_cast<double>(excess) < least_excess) {
      least_excess = static_cast<double>(excess);
      best_prices = prices_;
      failures = 0;
    } else if (++failures == kFailuresBeforeDecay) {
      failures = 0;
      step_ *= kStepDecay;
      prices_ = best_prices;
    }
    Move(*set, shares);
  }
  prices_ = best_prices;
  return RefutationVerdict::kStopped;
}

}  // namespace planwright
