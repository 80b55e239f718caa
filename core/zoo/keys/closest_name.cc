#include "core/zoo/keys/closest_name.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace planwright {

std::size_t EditDistance(std::string_view a, std::string_view b) {
  // distance[j]: between the prefix of `a` read so far and the first j bytes of `b`.
  std::vector<std::size_t> distance(b.size() + 1);
  std::iota(distance.begin(), distance.end(), std::size_t{0});
  for (const char letter : a) {
    std::size_t diagonal = distance[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (letter == b[j - 1] ? 0 : 1);
      diagonal = distance[j];
      distance[j] = std::min({replaced, distance[j] + 1, distance[j - 1] + 1});
    }
  }
  return distance.back();
}

std::string_view ClosestName(std::string_view name, std::span<const std::string_view> candidates) {
  return *std::ranges::min_element(candidates, {}, [name](std::string_view candidate) {
    const bool is_cut_short = candidate.starts_with(name) || name.starts_with(candidate);
    return std::pair(!is_cut_short, EditDistance(name, candidate));
  });
}

}  // namespace planwright
