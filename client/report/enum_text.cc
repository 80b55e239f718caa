#include "client/report/enum_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"

namespace planwright::client {

std::string EnumText(const std::string& name, std::string_view prefix) {
  return name.size() < prefix.size() ? "unknown" : absl::AsciiStrToLower(name.substr(prefix.size()));
}

std::string StopReasonText(v1::StopReason reason) {
  return absl::StrReplaceAll(EnumText(v1::StopReason_Name(reason), "STOP_REASON_"), {{"_", " "}});
}

}  // namespace planwright::client
