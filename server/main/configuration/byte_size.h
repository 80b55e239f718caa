// Sizes on the command line: "512MiB", "1.5 GB".
#ifndef PLANWRIGHT_SERVER_MAIN_CONFIGURATION_BYTE_SIZE_H_
#define PLANWRIGHT_SERVER_MAIN_CONFIGURATION_BYTE_SIZE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace planwright::server {

// A flag value: what ParseSize of core/text/amount.h takes, as the flags of `planwright` do.
struct ByteSize {
  int64_t bytes = 0;
};

// For ABSL_FLAG, which finds them by their names.
bool AbslParseFlag(absl::string_view text, ByteSize* size, std::string* error);
std::string AbslUnparseFlag(ByteSize size);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_CONFIGURATION_BYTE_SIZE_H_
