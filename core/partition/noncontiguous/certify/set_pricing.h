// The most valuable set of groups that one payer can hold: the pricing problem of the configuration bound.
//
// A dynamic program along the order of the groups. Its state says of every *open* net, one with groups before and
// behind, whether those before are all in the set, all out of it, or on both sides; a label adds the load so far and
// the value. Of the labels of a state only those are kept that no lighter one is worth as much as, and of those with
// loads in one of `levels` equal intervals one that has the least load and the greatest value of all: an optimistic
// label, so what is found is an upper bound. Exponential in the number of open nets, which is small where graphs are
// long.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_SET_PRICING_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_SET_PRICING_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/base/polling.h"
#include "core/partition/noncontiguous/certify/inseparable_groups.h"
#include "core/partition/noncontiguous/certify/load_relaxation.h"

namespace planwright {

// For one thread. Groups are taken in the order of their numbers (NarrowOrder).
class SetPricing {
 public:
  static constexpr int32_t kMostOpenNets = 32;

  // REQUIRES: no more nets are open anywhere than kMostOpenNets. O(groups x open nets x log).
  explicit SetPricing(const LoadRelaxation& relaxation);

  // How many states a group has on average, if all do that may: what the work grows with.
  double mean_states() const { return mean_states_; }

  struct Result {
    // No set with a load of at most the max load is worth more.
    int64_t value = 0;
    // By group: a set that is worth about as much; its load may be a little larger.
    std::vector<bool> holds;
  };

  // `prices`: by group, at least 0, with a sum below kMaxQuantity. nullopt: the budget, the clock or the memory of
  // kMostLabels ended it. Steps: labels looked at. REQUIRES: max_load >= 0, levels >= 1.
  std::optional<Result> Best(std::span<const int64_t> prices, int64_t max_load, int64_t levels, StepBudget& budget,
                             Poller& poller);

 private:
  static constexpr std::size_t kMostLabels = std::size_t{1} << 24U;

  // A net that is open before a group.
  struct OpenNet {
    // 0 unless the group is on it.
    int64_t weight = 0;
    bool has_group = false;
    bool stays_open = false;
  };
  struct Position {
    std::vector<OpenNet> open;
    // Nets whose first group this is.
    int32_t opened = 0;
  };
  struct Label {
    int64_t load = 0;
    int64_t value = 0;
    // Where it comes from: twice the number of a link, plus whether the group is in; later its own link.
    int64_t origin = 0;
  };
  // By state: two bits for each open net, the first ones lowest; labels by rising load and value.
  using Layer = std::map<uint64_t, std::vector<Label>>;

  // What happens to a state when a group joins the set, or does not.
  struct Step {
    uint64_t state = 0;
    int64_t load = 0;
  };
  static Step Take(const Position& position, uint64_t state, bool joins, int64_t time);
  void Advance(const std::vector<Label>& labels, const Label& step, std::vector<Label>& target);
  void Link(Layer& layer);
  std::vector<bool> Follow(int64_t link) const;

  std::vector<int64_t> payer_time_;
  std::vector<Position> positions_;
  double mean_states_ = 0;

  // State of the run under way.
  int64_t max_load_ = 0;
  int64_t interval_ = 1;
  std::vector<int64_t> links_;
  std::vector<Label> merged_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_SET_PRICING_H_
