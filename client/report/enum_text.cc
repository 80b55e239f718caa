#include "client/report/enum_text.h"

#include "absl/strings/ascii.h"

namespace planwright::client {

std::string EnumText(const std::string& name, std::string_view prefix) {
  return name.size() < prefix.size() ? "unknown" : absl::AsciiStrToLower(name.substr(prefix.size()));
}

}  // namespace planwright::client
