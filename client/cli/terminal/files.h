// Reading inputs and writing results, with "-" for the standard streams.
#ifndef PLANWRIGHT_CLIENT_CLI_TERMINAL_FILES_H_
#define PLANWRIGHT_CLIENT_CLI_TERMINAL_FILES_H_

#include <istream>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace planwright::client {

// The whole of the file, or of `in` when `path` is "-".
// Errors: INVALID_ARGUMENT when it cannot be read or is larger than 1 GiB, CANCELLED when that was interrupted.
absl::StatusOr<std::string> ReadInput(const std::string& path, std::istream& in);

// How errors and reports name an input: its path, or "standard input".
std::string InputName(const std::string& path);

// Writes `text` to the file, or to `out` when `path` is "" or "-". A file is replaced as a whole or stays as it was,
// and keeps its permissions. Errors: INVALID_ARGUMENT when the file cannot be written, INTERNAL when `out` cannot.
absl::Status WriteOutput(std::string_view text, const std::string& path, std::ostream& out);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_TERMINAL_FILES_H_
