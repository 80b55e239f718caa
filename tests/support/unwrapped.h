// Messages of the command line without the breaks of its lines.
#ifndef PLANWRIGHT_TESTS_SUPPORT_UNWRAPPED_H_
#define PLANWRIGHT_TESTS_SUPPORT_UNWRAPPED_H_

#include <string>

#include "absl/strings/str_replace.h"

namespace planwright::client {

// `errors` with every message on a line of its own: those that follow "error: " go on where its text begins.
inline std::string Unwrapped(const std::string& errors) { return absl::StrReplaceAll(errors, {{"\n       ", " "}}); }

}  // namespace planwright::client

#endif  // PLANWRIGHT_TESTS_SUPPORT_UNWRAPPED_H_
