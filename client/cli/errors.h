// Errors for people: what is wrong, where, and what to do next.
#ifndef PLANWRIGHT_CLIENT_CLI_ERRORS_H_
#define PLANWRIGHT_CLIENT_CLI_ERRORS_H_

#include <ostream>
#include <string_view>

#include "absl/status/status.h"
#include "client/cli/exit_code.h"

namespace planwright::client {

// `status` with a sentence that says what to do next; replaces one that is there.
absl::Status WithHint(absl::Status status, std::string_view hint);

// `status` with a hint unless it has one.
absl::Status WithDefaultHint(absl::Status status, std::string_view hint);

// INVALID_ARGUMENT with a hint.
absl::Status UsageError(std::string_view message, std::string_view hint);

// "error: PATH: RULE" for every violation or shortage, else "error: MESSAGE"; then the hint, or one that follows from
// the code.
void PrintError(const absl::Status& status, std::ostream& out);

// REQUIRES: !status.ok().
ExitCode ExitCodeFor(const absl::Status& status);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_ERRORS_H_
