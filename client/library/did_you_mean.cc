#include "client/library/did_you_mean.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "core/text/closest_name.h"

namespace planwright::client {

std::string DidYouMean(std::string_view word, std::span<const std::string> candidates, std::string_view prefix) {
  const std::vector<std::string_view> names(candidates.begin(), candidates.end());
  const auto likely = LikelyName(word, names);
  return likely.has_value() ? absl::StrCat("; did you mean ", std::string(prefix), candidates[*likely], "?") : "";
}

}  // namespace planwright::client
