#include "server/main/tls/text_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace planwright::server {

absl::StatusOr<std::string> ReadTextFile(const std::string& name) {
  std::ifstream stream(name, std::ios::binary);
  // A folder can be opened, but reading it throws.
  std::error_code ignored;
  if (!stream || std::filesystem::is_directory(name, ignored)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read ", name));
  }
  return std::string{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace planwright::server
