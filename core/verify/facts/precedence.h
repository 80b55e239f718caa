// What must come before what, as a list that can be ordered or shown to have a cycle.
#ifndef PLANWRIGHT_CORE_VERIFY_FACTS_PRECEDENCE_H_
#define PLANWRIGHT_CORE_VERIFY_FACTS_PRECEDENCE_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/ids.h"

namespace planwright {

// Item `before` must come before item `after`, because of `tensor`. Items are numbered from 0.
struct ItemPrecedence {
  std::size_t before = 0;
  std::size_t after = 0;
  TensorId tensor;

  std::pair<std::size_t, std::size_t> items() const { return {before, after}; }
};

// Sorts by the two items and keeps the first tensor of each pair.
void SortPrecedences(std::vector<ItemPrecedence>& precedences);

// Kahn's algorithm, the ready item of the smallest key first. Items on or behind a cycle are left out.
// REQUIRES: sorted precedences. Complexity O(precedences log + items log).
std::vector<std::size_t> OrderOf(const std::vector<ItemPrecedence>& precedences, const std::vector<OperatorId>& keys);

// A cycle, each precedence followed by the next. REQUIRES: `order` is OrderOf these and left items out.
std::vector<ItemPrecedence> CycleAmong(const std::vector<ItemPrecedence>& precedences,
                                       const std::vector<std::size_t>& order, std::size_t num_items);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_FACTS_PRECEDENCE_H_
