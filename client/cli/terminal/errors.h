// Errors for people: what is wrong, where, and what to do next.
#ifndef PLANWRIGHT_CLIENT_CLI_TERMINAL_ERRORS_H_
#define PLANWRIGHT_CLIENT_CLI_TERMINAL_ERRORS_H_

#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/cli/terminal/exit_code.h"
#include "client/cli/terminal/flags.h"
#include "client/library/hint.h"

namespace planwright::client {

// `status` with a hint unless it has one, or says that it was interrupted.
absl::Status WithDefaultHint(absl::Status status, std::string_view hint);

// `status` with a hint where it says that what was named is not there.
absl::Status WithNotFoundHint(absl::Status status, std::string_view hint);

// `status` whose violations name beside their field the flag that sets it: one of those that `arguments` give, or, of
// a field that must be set, any. A flag that is called as its field is not named. REQUIRES: ParseFlags has taken the
// arguments.
absl::Status WithFlags(absl::Status status, std::span<const std::string> arguments, std::span<const FlagGroup> groups);

// INVALID_ARGUMENT with a hint.
absl::Status UsageError(std::string_view message, std::string_view hint);

// A message of the given kind, such as "warning: ", in lines that are not too long.
void PrintNote(std::string_view kind, std::string_view text, std::ostream& out);

// "error: PATH: RULE", with flags (WithFlags) "error: PATH (--FLAG): RULE", for every violation or shortage, else
// "error: MESSAGE"; then the hint, or one that follows from the code.
void PrintError(const absl::Status& status, std::ostream& out);

// REQUIRES: !status.ok().
ExitCode ExitCodeFor(const absl::Status& status);

// The exit code of several attempts at a plan: 0 if there is one, else kUsage where all were refused, else a proof
// counts more than a search without result. REQUIRES: !attempts.empty().
ExitCode ExitCodeForAll(std::span<const absl::Status> attempts);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_TERMINAL_ERRORS_H_
