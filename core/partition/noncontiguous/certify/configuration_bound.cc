#include "core/partition/noncontiguous/certify/configuration_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>

#include "core/partition/noncontiguous/certify/low_width_order.h"

namespace planwright {
namespace {

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
  std::vector<int64_t> rounded;
  rounded.reserve(prices_.size());
  for (const double price : prices_) rounded.push_back(std::llround(price * kPriceSum));
  return rounded;
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
