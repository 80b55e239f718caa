// Files of flags (--flagfile), checked before Abseil reads them.
#ifndef PLANWRIGHT_SERVER_MAIN_CONFIGURATION_FLAG_FILES_H_
#define PLANWRIGHT_SERVER_MAIN_CONFIGURATION_FLAG_FILES_H_

#include <span>

#include "absl/status/status.h"

namespace planwright::server {

// Abseil ends the program for a file of flags that it cannot read or take, also where a server reads its settings again
// and is to go on with the old ones. INVALID_ARGUMENT: it would, for one that `arguments` name; the message says which
// line. The values are tried by setting them, so the arguments are to be parsed afterwards. Not thread-safe.
absl::Status CheckFlagFiles(std::span<char* const> arguments);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_CONFIGURATION_FLAG_FILES_H_
