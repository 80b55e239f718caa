// The configuration bound: no mixture of what single devices can hold covers all groups.
//
// Give every group a price of at least 0. If a payer can hold sets of groups worth W at most with a load of at most T
// (set_pricing.h), and the others sets worth O at most, then no placement keeps all loads at or below T unless
// payers x W + O is at least the sum of all prices. The best prices are the dual solution of the linear program over
// all such sets (Dantzig-Wolfe); they are approached by subgradient steps, which raise the prices of groups that the
// most valuable sets leave out. Unlike the linear relaxation of the placement it knows what it costs to cut a graph,
// and how loads add up: on long graphs it ends within a percent of the optimum where branching ends with several.
//
// Sources: Dantzig and Wolfe, Decomposition principle for linear programs, 1960; Gilmore and Gomory, A linear
// programming approach to the cutting-stock problem, 1961.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_CONFIGURATION_BOUND_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_CONFIGURATION_BOUND_H_

#include <cstdint>
#include <vector>

#include "core/base/polling.h"
#include "core/partition/noncontiguous/certify/inseparable_groups.h"
#include "core/partition/noncontiguous/certify/load_relaxation.h"
#include "core/partition/noncontiguous/certify/set_pricing.h"

namespace planwright {

// An order of the groups along which few nets are open at a time, for programs that are exponential in their number.
//
// Greedy: the next group is the one after which the fewest nets are open, of those that are on an open net (of few
// groups: nets that nearly all are on guide nobody). It is tried from several first groups and with two rules for ties,
// the net that is open longest or shortest; the best order is that with the smallest sum of 2^open. No guarantee: the
// least width is NP-hard to find.
//
// By group: its place in the order; empty: more than `most_open` nets are open somewhere in every order that was tried.
// O(tries x groups x most_open x nets of a group).
std::vector<int32_t> NarrowOrder(const LoadRelaxation& relaxation, int32_t most_open);

// Tries one max load after the other; the prices that are found for one are the first ones of the next. One thread.
class ConfigurationBound {
 public:
  explicit ConfigurationBound(const LoadRelaxation& relaxation);

  // kRefuted, or kStopped: never kOpen. Steps: labels of the pricing, which are made finer as the budget grows; none
  // are spent where the budget is too small for the coarsest, on more than 3,000 groups, or where too many nets are
  // open in every order.
  RefutationVerdict Refute(int64_t max_load, StepBudget& budget, Poller& poller);

 private:
  // The prices as integers, whose sum is about kPriceSum.
  std::vector<int64_t> RoundedPrices() const;
  // What others hold at most of these prices; `shares`: by group, how much of it.
  int64_t WorthOfOthers(const std::vector<int64_t>& prices, int64_t max_load, std::vector<double>& shares) const;
  void Move(const SetPricing::Result& set, const std::vector<double>& shares);

  // In an order along which few nets are open; without groups: nothing is tried.
  LoadRelaxation relaxation_;
  SetPricing pricing_;
  // By group, with sum 1.
  std::vector<double> prices_;
  // The mean of the latest subgradients.
  std::vector<double> direction_;
  double step_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_CONFIGURATION_BOUND_H_
