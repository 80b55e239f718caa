#include "core/verify/facts/precedence.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

namespace planwright {

void SortPrecedences(std::vector<ItemPrecedence>& precedences) {
  const auto by_items = [](const ItemPrecedence& a, const ItemPrecedence& b) {
    return std::tie(a.before, a.after, a.tensor) < std::tie(b.before, b.after, b.tensor);
  };
  std::sort(precedences.begin(), precedences.end(), by_items);
  const auto same = [](const ItemPrecedence& a, const ItemPrecedence& b) { return a.items() == b.items(); };
  precedences.erase(std::unique(precedences.begin(), precedences.end(), same), precedences.end());
}

std::vector<std::size_t> OrderOf(const std::vector<ItemPrecedence>& precedences, const std::vector<OperatorId>& keys) {
  std::vector<std::size_t> waits_for(keys.size());
  for (const ItemPrecedence& precedence : precedences) ++waits_for[precedence.after];
  using Ready = std::pair<OperatorId, std::size_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto add_if_ready = [&](std::size_t item) {
    if (waits_for[item] == 0) ready.emplace(keys[item], item);
  };
  for (std::size_t item = 0; item < keys.size(); ++item) add_if_ready(item);
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t item = ready.top().second;
    ready.pop();
    order.push_back(item);
    auto next = std::lower_bound(precedences.begin(), precedences.end(), item,
                                 [](const ItemPrecedence& precedence, std::size_t i) { return precedence.before < i; });
    for (; next != precedences.end() && next->before == item; ++next) {
      --waits_for[next->after];
      add_if_ready(next->after);
    }
  }
  return order;
}

std::vector<ItemPrecedence> CycleAmong(const std::vector<ItemPrecedence>& precedences,
                                       const std::vector<std::size_t>& order, std::size_t num_items) {
  std::vector<bool> stuck(num_items, true);
  for (const std::size_t item : order) stuck[item] = false;
  // Every stuck item has a stuck predecessor; walking back must come to an item for the second time.
  std::vector<const ItemPrecedence*> cause(num_items);
  for (const ItemPrecedence& precedence : precedences) {
    if (stuck[precedence.before]) cause[precedence.after] = &precedence;
  }
  auto item = static_cast<std::size_t>(std::find(stuck.begin(), stuck.end(), true) - stuck.begin());
  for (std::size_t steps = 0; steps < num_items; ++steps) item = cause[item]->before;
  std::vector<ItemPrecedence> cycle;
  for (std::size_t at = item; cycle.empty() || at != item; at = cause[at]->before) cycle.push_back(*cause[at]);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

}  // namespace planwright
