// Which of some names a misspelt one may stand for: for flags, keys, fields and models alike.
#ifndef PLANWRIGHT_CORE_TEXT_CLOSEST_NAME_H_
#define PLANWRIGHT_CORE_TEXT_CLOSEST_NAME_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace planwright {

// Fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`, bytes for letters
// (Damerau-Levenshtein, each byte edited once). Time O(|a| |b|), memory O(|b|).
std::size_t EditDistance(std::string_view a, std::string_view b);

// The position of the candidate with the least edit distance from `name`, the first of several; those that begin with
// `name`, or with which `name` begins, go before all others: "bert" is "bert-base", not "gnmt". REQUIRES: there are
// candidates.
std::size_t ClosestName(std::string_view name, std::span<const std::string_view> candidates);

// As ClosestName, where the name is close enough to be meant: a third of the letters may be wrong, two of five or more,
// and one of fewer.
// nullopt: none is.
std::optional<std::size_t> LikelyName(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_TEXT_CLOSEST_NAME_H_
