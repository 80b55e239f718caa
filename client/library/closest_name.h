// Which of some names a misspelt one may stand for.
#ifndef PLANWRIGHT_CLIENT_LIBRARY_CLOSEST_NAME_H_
#define PLANWRIGHT_CLIENT_LIBRARY_CLOSEST_NAME_H_

#include <span>
#include <string>
#include <string_view>

namespace planwright::client {

// The candidate that differs from `word` by the fewest insertions, deletions, replacements and swaps of neighbours;
// empty when none is close enough to be meant. O(|word| x total length of the candidates).
std::string ClosestTo(std::string_view word, std::span<const std::string> candidates);

// "; did you mean CANDIDATE?" of the closest one, written as it would be typed, with `prefix`; empty when none is
// close.
std::string DidYouMean(std::string_view word, std::span<const std::string> candidates, std::string_view prefix = "");

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LIBRARY_CLOSEST_NAME_H_
