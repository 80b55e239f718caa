// Which of some names a misspelt one may stand for.
#ifndef PLANWRIGHT_CORE_ZOO_KEYS_CLOSEST_NAME_H_
#define PLANWRIGHT_CORE_ZOO_KEYS_CLOSEST_NAME_H_

#include <cstddef>
#include <span>
#include <string_view>

namespace planwright {

// Fewest insertions, deletions and replacements of one byte that turn `a` into `b` (Levenshtein 1966). Time O(|a| |b|),
// memory O(|b|).
std::size_t EditDistance(std::string_view a, std::string_view b);

// The candidate with the least edit distance from `name`, the first of several; those that begin with `name`, or with
// which `name` begins, go before all others: "bert" is "bert-base", not "gnmt". REQUIRES: there are candidates.
std::string_view ClosestName(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_KEYS_CLOSEST_NAME_H_
