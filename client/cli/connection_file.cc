#include "client/cli/connection_file.h"

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/files.h"
#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/shared_flags.h"

namespace planwright::client {
namespace {

constexpr char kHint[] = "Lines are flags without hyphens, such as: server = localhost:50051";

// "--server=localhost:50051" of "server = localhost:50051"; empty: a comment, or nothing.
std::string FlagOf(const std::string& line) {
  const std::string text(absl::StripAsciiWhitespace(line));
  if (text.empty() || text.front() == '#') return "";
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return absl::StrCat("--", text);
  const std::string name(absl::StripTrailingAsciiWhitespace(text.substr(0, equals)));
  return absl::StrCat("--", name, "=", absl::StripLeadingAsciiWhitespace(text.substr(equals + 1)));
}

absl::Status At(const std::string& path, int line, const absl::Status& status) {
  const absl::string_view reason = status.message();
  return UsageError(absl::StrCat(path, ":", line, ": ", reason), kHint);
}

}  // namespace

std::string ConnectionFilePath() {
  const char* folder = std::getenv("XDG_CONFIG_HOME");
  if (folder != nullptr && *folder != '\0') return absl::StrCat(folder, "/planwright/config");
  const char* home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? absl::StrCat(home, "/.config/planwright/config") : "";
}

absl::StatusOr<ServerConnection> ReadConnectionFile(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return ServerConnection();
  std::istringstream no_standard_input;
  const auto text = ReadInput(path, no_standard_input);
  if (!text.ok()) return text.status();
  ServerFlags flags;
  FlagGroup group = flags.Flags();
  // Which certificate goes with which key is for the whole file to say.
  const auto check = group.check;
  group.check = nullptr;
  const std::vector<FlagGroup> groups = {group};
  std::istringstream lines(*text);
  std::string line;
  int number = 0;
  while (std::getline(lines, line)) {
    ++number;
    const std::string flag = FlagOf(line);
    if (flag.empty()) continue;
    const absl::Status set = ParseFlags(std::vector<std::string>{flag}, groups);
    if (!set.ok()) return At(path, number, set);
  }
  const absl::Status together = check();
  if (!together.ok()) return At(path, number, together);
  return flags.stated();
}

}  // namespace planwright::client
