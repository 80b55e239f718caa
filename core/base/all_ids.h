#ifndef PLANWRIGHT_CORE_BASE_ALL_IDS_H_
#define PLANWRIGHT_CORE_BASE_ALL_IDS_H_

#include <cstddef>
#include <vector>

namespace planwright {

// Those of the first `count` of their kind, in their order.
template <typename Id>
std::vector<Id> AllIds(std::size_t count) {
  std::vector<Id> ids;
  ids.reserve(count);
  for (std::size_t i = 0; i < count; ++i) ids.emplace_back(i);
  return ids;
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_ALL_IDS_H_
