// Sizes on the command line: "512MiB".
#ifndef PLANWRIGHT_SERVER_MAIN_CONFIGURATION_BYTE_SIZE_H_
#define PLANWRIGHT_SERVER_MAIN_CONFIGURATION_BYTE_SIZE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace planwright::server {

// A flag value: a whole number of bytes >= 0, or one followed by KiB, MiB or GiB.
struct ByteSize {
  int64_t bytes = 0;
};

// For ABSL_FLAG, which finds them by their names.
bool AbslParseFlag(absl::string_view text, ByteSize* size, std::string* error);
std::string AbslUnparseFlag(ByteSize size);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_CONFIGURATION_BYTE_SIZE_H_
