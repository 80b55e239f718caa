#include "core/text/closest_name.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace planwright {
namespace {

// Shorter beginnings are beginnings of anything.
constexpr std::size_t kShortestBeginning = 3;
// Two edits make nearly any shorter name of another.
constexpr std::size_t kShortName = 5;

bool IsBeginning(std::string_view name, std::string_view candidate) {
  return candidate.starts_with(name) || name.starts_with(candidate);
}

}  // namespace

std::size_t EditDistance(std::string_view a, std::string_view b) {
  // Between a prefix of `a` and the first j bytes of `b`: the prefix read so far, and those one and two bytes shorter.
  std::vector<std::size_t> distance(b.size() + 1);
  std::iota(distance.begin(), distance.end(), std::size_t{0});
  std::vector<std::size_t> before(distance.size());
  std::vector<std::size_t> long_before(distance.size());
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(long_before, before);
    std::swap(before, distance);
    distance[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      distance[j] = std::min({replaced, before[j] + 1, distance[j - 1] + 1});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) distance[j] = std::min(distance[j], long_before[j - 2] + 1);
    }
  }
  return distance.back();
}

std::size_t ClosestName(std::string_view name, std::span<const std::string_view> candidates) {
  const auto closest = std::ranges::min_element(candidates, {}, [name](std::string_view candidate) {
    return std::pair(!IsBeginning(name, candidate), EditDistance(name, candidate));
  });
  return static_cast<std::size_t>(closest - candidates.begin());
}

std::optional<std::size_t> LikelyName(std::string_view name, std::span<const std::string_view> candidates) {
  if (candidates.empty()) return std::nullopt;
  const std::size_t closest = ClosestName(name, candidates);
  const std::string_view candidate = candidates[closest];
  const bool is_beginning =
      IsBeginning(name, candidate) && std::min(name.size(), candidate.size()) >= kShortestBeginning;
  const std::size_t most = std::max<std::size_t>(name.size() < kShortName ? 1 : 2, name.size() / 3);
  return is_beginning || EditDistance(name, candidate) <= most ? std::optional(closest) : std::nullopt;
}

}  // namespace planwright
