// Whether groups fit into the capacities of the devices at all, as in bin packing.
//
// A dual feasible function gives every size a value such that sizes which fit one device have at most a given total
// value; if all groups are worth more than all devices hold, there is no placement. Three kinds are tried: the size
// itself (the work bound), the size in units of just over 1/(q+1) of the capacity, rounded down (at most q a device),
// and sizes with those below e left out and those above T - e taken for a whole device. What others take over is
// relaxed to a fractional knapsack. Sources: Lueker, Bin packing with items uniformly distributed over intervals
// [a, b], 1983; Fekete and Schepers, New classes of fast lower bounds for bin packing problems, 2001.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_PACKING_BOUND_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_PACKING_BOUND_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/partition/noncontiguous/certify/load_relaxation.h"

namespace planwright {

// Where a group is: a payer (0, 1, ...), or one of these.
inline constexpr int32_t kUndecided = -1;
inline constexpr int32_t kElsewhere = -2;

// For one relaxation, which it refers to, and one max load. Immutable.
class PackingBound {
 public:
  PackingBound(const LoadRelaxation& relaxation, int64_t max_load);

  // Whether no completion keeps all loads at or below the max load. `place_of`: by group; `loads`: for every payer in
  // use what it must spend on its groups and on transfers, whatever else it holds. O(functions x groups).
  bool Refutes(std::span<const int32_t> place_of, std::span<const int64_t> loads) const;
  // Likewise before any decision, with one argument more, the pigeonhole: one of k payers gets at least ceil(m/k) of m
  // groups that only payers can run, and these take at least as long as the shortest. O(functions x groups).
  bool RefutesAtRoot() const;

  // What others can take off the payers: the payer time of the groups that fit their budget, fractionally. kElsewhere
  // counts; negative: even these do not fit. O(groups).
  int64_t Relief(std::span<const int32_t> place_of) const;

  bool CanRunElsewhere(int32_t group) const {
    return relaxation_.other_time[static_cast<std::size_t>(group)] <= others_budget_;
  }

 private:
  using Value = std::function<int64_t(int64_t size)>;

  // What is worth less than `least_size` is worth nothing. `budget`: of the others, for undecided groups.
  bool Exceeds(std::span<const int32_t> place_of, std::span<const int64_t> loads, int64_t budget, int64_t least_size,
               int64_t capacity, const Value& value) const;
  // What is left of the others' budget after what is decided; negative: it does not suffice.
  int64_t BudgetLeft(std::span<const int32_t> place_of) const;
  std::vector<int64_t> SmallSizes(std::span<const int32_t> place_of, std::span<const int64_t> loads) const;

  const LoadRelaxation& relaxation_;
  const int64_t max_load_;
  const int64_t others_budget_;
  // Groups by falling payer time, and by falling payer time per other time.
  std::vector<int32_t> by_size_;
  std::vector<int32_t> by_relief_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_PACKING_BOUND_H_
