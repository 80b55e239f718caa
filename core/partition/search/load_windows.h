// How much of the graph can lie before a boundary when every load is at most T.
//
// The dynamic programs go through states: how many devices of each pool hold the blocks of an ideal. With max load T, c
// devices of a pool can take only so much work, and what is left must fit on the devices that are left. This confines
// the weight of the ideals of a state to a window, which narrows as T approaches the optimum.
//
// The weight of a block is its time on the first pool that supports it. The capacity of a pool for a time budget b is
// the largest weight of blocks whose times there sum up to at most b, relaxed to fractions of blocks (a knapsack by
// ratio), hence an upper bound for any set of its devices with total load b. Replicas of a stage have the work of as
// many devices between them.
#ifndef PLANWRIGHT_CORE_PARTITION_SEARCH_LOAD_WINDOWS_H_
#define PLANWRIGHT_CORE_PARTITION_SEARCH_LOAD_WINDOWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/model/plan.h"
#include "core/partition/search/block_instance.h"

namespace planwright {

// Numbers of devices used, one for each pool, as one index: 0 is "none", size() - 1 is "all". A state comes after the
// states with a device less. Without replication pools count at most as many devices as there are blocks. size()
// saturates at kMaxQuantity: nobody goes through so many states, and only devices() may be asked then.
class StateSpace {
 public:
  explicit StateSpace(const BlockInstance& instance);

  std::size_t size() const { return size_; }
  std::size_t num_pools() const { return device_counts_.size(); }
  int64_t devices(std::size_t pool) const { return device_counts_[pool]; }
  // Devices of `pool` in use.
  int64_t used(std::size_t state, std::size_t pool) const {
    return static_cast<int64_t>(state / strides_[pool]) % (device_counts_[pool] + 1);
  }
  // The state with so many devices of `pool` less. REQUIRES: used(state, pool) >= devices.
  std::size_t without(std::size_t state, std::size_t pool, int64_t devices = 1) const {
    return state - static_cast<std::size_t>(devices) * strides_[pool];
  }
  // The devices that `state` leaves.
  std::size_t complement(std::size_t state) const { return size_ - 1 - state; }

 private:
  std::vector<int64_t> device_counts_;
  std::vector<std::size_t> strides_;
  std::size_t size_ = 1;
};

// A fractional knapsack, answered by binary search.
class Capacity {
 public:
  // Largest sum of values within a budget of times; `spare_rate`: what is left of the budget yields value one for one
  // (time spent on transfers).
  Capacity(const std::vector<int64_t>& times, const std::vector<int64_t>& values, const std::vector<bool>& usable,
           bool spare_rate);

  // Rounded up; monotone in `budget`. O(log n).
  int64_t At(int64_t budget) const;

 private:
  // After the first i items in order of value per time.
  std::vector<int64_t> times_;
  std::vector<int64_t> values_;
  bool spare_rate_;
};

// Bounds on the ideals of one state for one T.
struct LoadWindow {
  int64_t min_weight = 0;
  int64_t max_weight = -1;
  // Bounds on weight + border before the boundary and after it, border = total weight of the nets that it cuts: every
  // cut net is paid at least once on either side. No bound where transfers may hide behind compute.
  int64_t max_before = 0;
  int64_t max_after = 0;

  bool empty() const { return max_weight < min_weight; }
};

// The windows of an instance. Immutable; any thread.
class LoadWindows {
 public:
  explicit LoadWindows(const BlockInstance& instance);

  const StateSpace& states() const { return states_; }
  int64_t weight(int32_t block) const { return weights_[static_cast<std::size_t>(block)]; }
  const std::vector<int64_t>& weights() const { return weights_; }
  int64_t total_weight() const { return total_weight_; }

  // Windows of all states for `max_load`, by state. O(states x pools x log).
  std::vector<LoadWindow> At(int64_t max_load) const;
  // Weight that a stage on `replicas` devices of `pool` can hold: how far back its start can lie.
  int64_t StageCapacity(std::size_t pool, int64_t replicas, int64_t max_load) const {
    return compute_[pool].At(SaturatingMultiply(replicas, rule_.ComputeBudget(max_load)));
  }
  // The least T for which the devices together have capacity for all blocks: a lower bound on the optimum. For any
  // number of states.
  int64_t WorkBound(int64_t upper) const;

 private:
  int64_t Sum(const std::vector<Capacity>& capacities, std::size_t state, int64_t device_budget) const;
  int64_t ComputeOfAllDevices(int64_t device_budget) const;

  LoadRule rule_;
  StateSpace states_;
  std::vector<int64_t> weights_;
  int64_t total_weight_ = 0;
  // By pool: capacity for weight, and for weight plus the nets that cross a boundary.
  std::vector<Capacity> compute_;
  std::vector<Capacity> with_border_;
};

// Bounds on the max load that need no search.
// A load that no split exceeds: everything on one device, every net paid twice, all parameters reduced by all devices.
int64_t TrivialLoadBound(const BlockInstance& instance);

// Proven lower bounds on the max load of any split, each with its method, PROBLEM scope:
//   "work"           all devices together have the capacity for all blocks only above it;
//   "largest_block"  every block runs somewhere, on the pool and the number of replicas where it takes the least time.
// REQUIRES: every block has a pool that supports it. O(blocks x pools (x devices with replication) + log).
std::vector<Bound> ElementaryBounds(const BlockInstance& instance, const LoadWindows& windows);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEARCH_LOAD_WINDOWS_H_
