// Small files of settings.
#ifndef PLANWRIGHT_SERVER_MAIN_TLS_TEXT_FILE_H_
#define PLANWRIGHT_SERVER_MAIN_TLS_TEXT_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace planwright::server {

// The whole file. Errors: INVALID_ARGUMENT "cannot read NAME", also for a folder.
absl::StatusOr<std::string> ReadTextFile(const std::string& name);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_TLS_TEXT_FILE_H_
