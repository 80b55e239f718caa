// What can be done about an error, beside its message.
#ifndef PLANWRIGHT_CLIENT_LIBRARY_HINT_H_
#define PLANWRIGHT_CLIENT_LIBRARY_HINT_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace planwright::client {

// `status` with a sentence that says what to do next; replaces one that is there. Empty: its message says it.
// REQUIRES: it is an error.
absl::Status WithHint(absl::Status status, std::string_view hint);

// nullopt: it brings none.
std::optional<std::string> HintOf(const absl::Status& status);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LIBRARY_HINT_H_
