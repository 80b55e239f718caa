#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_MEDIAN_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace planwright::client {

// The upper median, in time linear in their number; nullopt: there are no values.
template <typename Value>
std::optional<Value> Median(std::vector<Value> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_MEDIAN_H_
