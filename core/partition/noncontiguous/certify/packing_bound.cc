#include "core/partition/noncontiguous/certify/packing_bound.h"

#include <algorithm>
#include <cstddef>

#include "core/base/index.h"

namespace planwright {
namespace {

__extension__ using Wide = __int128;

// Finer units than this say hardly more than the size itself.
constexpr int64_t kMostUnits = 8;
// Sizes e that are tried as "too small to count".
constexpr std::size_t kMostSmallSizes = 16;

// ceil(a x b / c). REQUIRES: a, b >= 0, c > 0; the result is less than 2^63.
int64_t MultiplyDivideUp(int64_t a, int64_t b, int64_t c) {
  return static_cast<int64_t>((static_cast<Wide>(a) * b + c - 1) / c);
}

// a / b > c / d. REQUIRES: all >= 0; of b and d one may be 0.
bool IsGreaterRatio(int64_t a, int64_t b, int64_t c, int64_t d) {
  return static_cast<Wide>(a) * d > static_cast<Wide>(c) * b;
}

}  // namespace

PackingBound::PackingBound(const LoadRelaxation& relaxation, int64_t max_load)
    : relaxation_(relaxation),
      max_load_(max_load),
      // Below kNever: a group that cannot run elsewhere never fits.
      others_budget_(std::min(SaturatingMultiply(max_load, relaxation.num_others), LoadRelaxation::kNever - 1)),
      by_size_(FirstNumbers(relaxation.payer_time.size())) {
  const auto payer = [&](int32_t group) { return relaxation_.payer_time[static_cast<std::size_t>(group)]; };
  const auto other = [&](int32_t group) { return relaxation_.other_time[static_cast<std::size_t>(group)]; };
  std::stable_sort(by_size_.begin(), by_size_.end(), [&](int32_t a, int32_t b) { return payer(a) > payer(b); });
  for (const int32_t group : by_size_) {
    if (payer(group) < LoadRelaxation::kNever && CanRunElsewhere(group)) by_relief_.push_back(group);
  }
  std::stable_sort(by_relief_.begin(), by_relief_.end(),
                   [&](int32_t a, int32_t b) { return IsGreaterRatio(payer(a), other(a), payer(b), other(b)); });
}

int64_t PackingBound::BudgetLeft(std::span<const int32_t> place_of) const {
  int64_t budget = others_budget_;
  for (std::size_t group = 0; group < place_of.size(); ++group) {
    const bool is_elsewhere =
        place_of[group] == kElsewhere ||
        (place_of[group] == kUndecided && relaxation_.payer_time[group] >= LoadRelaxation::kNever);
    if (is_elsewhere) budget -= relaxation_.other_time[group];
    if (budget < 0) return budget;
  }
  return budget;
}

int64_t PackingBound::Relief(std::span<const int32_t> place_of) const {
  int64_t budget = BudgetLeft(place_of);
  if (budget < 0) return budget;
  int64_t relief = 0;
  for (std::size_t group = 0; group < place_of.size(); ++group) {
    const int64_t time = relaxation_.payer_time[group];
    if (place_of[group] == kElsewhere && time < LoadRelaxation::kNever) relief += time;
  }
  for (const int32_t group : by_relief_) {
    const auto index = static_cast<std::size_t>(group);
    if (place_of[index] != kUndecided) continue;
    const int64_t other = relaxation_.other_time[index];
    if (other > budget) return relief + MultiplyDivideUp(relaxation_.payer_time[index], budget, other);
    budget -= other;
    relief += relaxation_.payer_time[index];
  }
  return relief;
}

bool PackingBound::Exceeds(std::span<const int32_t> place_of, std::span<const int64_t> loads, int64_t budget,
                           int64_t least_size, int64_t capacity, const Value& value) const {
  Wide total = 0;
  for (const int64_t load : loads) total += value(load);
  Wide movable = 0;
  int64_t best_value = 0;
  int64_t best_time = 1;
  for (const int32_t group : by_size_) {
    const auto index = static_cast<std::size_t>(group);
    const int64_t size = relaxation_.payer_time[index];
    if (size < least_size) break;
    if (place_of[index] != kUndecided || size >= LoadRelaxation::kNever) continue;
    const int64_t worth = value(size);
    total += worth;
    if (!CanRunElsewhere(group)) continue;
    movable += worth;
    const int64_t time = std::max<int64_t>(relaxation_.other_time[index], 1);
    if (IsGreaterRatio(worth, time, best_value, best_time)) {
      best_value = worth;
      best_time = time;
    }
  }
  // No group is worth more per time than the best one. A group without time counts as one of time 1: one unit more of
  // budget for each of them covers that.
  const Wide generous_budget = static_cast<Wide>(budget) + relaxation_.num_groups();
  const Wide relief = std::min(movable, generous_budget * best_value / best_time + 1);
  return total - relief > static_cast<Wide>(capacity) * relaxation_.num_payers;
}

std::vector<int64_t> PackingBound::SmallSizes(std::span<const int32_t> place_of, std::span<const int64_t> loads) const {
  std::vector<int64_t> sizes;
  for (const int64_t load : loads) {
    if (load <= max_load_ / 2) sizes.push_back(load);
  }
  for (const int32_t group : by_size_) {
    const int64_t size = relaxation_.payer_time[static_cast<std::size_t>(group)];
    if (sizes.size() >= kMostSmallSizes || size == 0) break;
    if (place_of[static_cast<std::size_t>(group)] != kUndecided || size > max_load_ / 2) continue;
    if (sizes.empty() || sizes.back() != size) sizes.push_back(size);
  }
  return sizes;
}

bool PackingBound::Refutes(std::span<const int32_t> place_of, std::span<const int64_t> loads) const {
  const int64_t budget = BudgetLeft(place_of);
  if (budget < 0) return true;
  for (const int64_t load : loads) {
    if (load > max_load_) return true;
  }
  Wide total = -static_cast<Wide>(Relief(place_of));
  for (const int64_t load : loads) total += load;
  for (std::size_t group = 0; group < place_of.size(); ++group) {
    const int64_t time = relaxation_.payer_time[group];
    // What is decided to be elsewhere is in the relief.
    if (place_of[group] < 0 && time < LoadRelaxation::kNever) total += time;
  }
  if (total > static_cast<Wide>(max_load_) * relaxation_.num_payers) return true;

  for (int64_t units = 1; units <= kMostUnits; ++units) {
    const auto count = [&](int64_t size) {
      return static_cast<int64_t>(static_cast<Wide>(size) * (units + 1) / (max_load_ + 1));
    };
    if (Exceeds(place_of, loads, budget, max_load_ / (units + 1), units, count)) return true;
  }
  for (const int64_t small : SmallSizes(place_of, loads)) {
    const auto all_or_nothing = [&](int64_t size) {
      if (size < small) return int64_t{0};
      return size > max_load_ - small ? max_load_ : size;
    };
    if (Exceeds(place_of, loads, budget, small, max_load_, all_or_nothing)) return true;
  }
  return false;
}

bool PackingBound::RefutesAtRoot() const {
  const std::vector<int32_t> nothing_decided(relaxation_.payer_time.size(), kUndecided);
  if (Refutes(nothing_decided, {})) return true;
  std::vector<int64_t> sizes;
  for (const int32_t group : by_size_) {
    const int64_t size = relaxation_.payer_time[static_cast<std::size_t>(group)];
    if (size < LoadRelaxation::kNever && !CanRunElsewhere(group)) sizes.push_back(size);
  }
  std::vector<Wide> sum_of_first(sizes.size() + 1, 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) sum_of_first[i + 1] = sum_of_first[i] + sizes[i];
  // Some payer gets each + 1 of the payers x each + 1 largest groups, at least the shortest of these.
  const auto payers = static_cast<std::size_t>(relaxation_.num_payers);
  for (std::size_t each = 1; each * payers < sizes.size(); ++each) {
    const std::size_t count = each * payers + 1;
    if (sum_of_first[count] - sum_of_first[count - each - 1] > max_load_) return true;
  }
  return false;
}

}  // namespace planwright
