// What an error suggests in place of a misspelt name.
#ifndef PLANWRIGHT_CLIENT_LIBRARY_DID_YOU_MEAN_H_
#define PLANWRIGHT_CLIENT_LIBRARY_DID_YOU_MEAN_H_

#include <span>
#include <string>
#include <string_view>

namespace planwright::client {

// "; did you mean CANDIDATE?" of the likely one (core/text/closest_name.h), written as it would be typed, with
// `prefix`; empty where none is close.
std::string DidYouMean(std::string_view word, std::span<const std::string> candidates, std::string_view prefix = "");

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LIBRARY_DID_YOU_MEAN_H_
