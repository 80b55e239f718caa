#include "server/main/configuration/flag_files.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "absl/flags/reflection.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "server/main/tls/text_file.h"

namespace planwright::server {
namespace {

// Files that name files: as many as nobody needs, so that a circle ends.
constexpr int kMostNested = 10;

// Flags of the parser's own, which say where others come from.
constexpr std::string_view kFlagFile = "flagfile";
constexpr std::string_view kParsersOwn[] = {"fromenv", "tryfromenv", "undefok"};

struct Argument {
  absl::string_view name;
  // nullopt: there is no "=".
  std::optional<absl::string_view> value;
};

// nullopt: it is no flag.
std::optional<Argument> ReadArgument(absl::string_view text) {
  if (!absl::StartsWith(text, "-")) return std::nullopt;
  text.remove_prefix(absl::StartsWith(text, "--") ? 2 : 1);
  const std::size_t equals = text.find('=');
  if (equals == absl::string_view::npos) return Argument{text, std::nullopt};
  return Argument{text.substr(0, equals), text.substr(equals + 1)};
}

bool IsParsersOwn(absl::string_view name) {
  return std::any_of(std::begin(kParsersOwn), std::end(kParsersOwn),
                     [&](std::string_view own) { return name == ToAbsl(own); });
}

// Sets the flag. INVALID_ARGUMENT: there is none, or it cannot take the value.
absl::Status TryFlag(const Argument& argument) {
  absl::CommandLineFlag* flag = absl::FindCommandLineFlag(argument.name);
  std::string value(argument.value.value_or("true"));
  if (flag == nullptr && absl::StartsWith(argument.name, "no") && !argument.value.has_value()) {
    flag = absl::FindCommandLineFlag(argument.name.substr(2));
    value = "false";
  }
  if (flag == nullptr) return absl::InvalidArgumentError(absl::StrCat("there is no flag --", argument.name));
  if (!argument.value.has_value() && !flag->IsOfType<bool>()) {
    return absl::InvalidArgumentError(absl::StrCat("--", argument.name, " needs a value behind \"=\""));
  }
  std::string error;
  if (flag->ParseFrom(value, &error)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--", argument.name, ": ", error));
}

absl::Status CheckFiles(absl::string_view files, int nested);

absl::Status CheckLine(absl::string_view line, int nested) {
  line = absl::StripLeadingAsciiWhitespace(line);
  if (line.empty() || absl::StartsWith(line, "#")) return absl::OkStatus();
  const std::optional<Argument> argument = ReadArgument(line);
  if (!argument.has_value() || argument->name.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("must be a flag or a comment, is \"", line, "\""));
  }
  if (argument->name == ToAbsl(kFlagFile)) return CheckFiles(argument->value.value_or(""), nested + 1);
  return IsParsersOwn(argument->name) ? absl::OkStatus() : TryFlag(*argument);
}

absl::Status CheckFile(const std::string& file, int nested) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(file));
  if (nested > kMostNested) return absl::InvalidArgumentError(absl::StrCat(file, " names itself, or too many others"));
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::Status checked = CheckLine(line, nested);
    if (!checked.ok()) return absl::InvalidArgumentError(absl::StrCat(file, ":", number, ": ", checked.message()));
  }
  return absl::OkStatus();
}

absl::Status CheckFiles(absl::string_view files, int nested) {
  for (const absl::string_view file : absl::StrSplit(files, ',', absl::SkipEmpty())) {
    RETURN_IF_ERROR(CheckFile(std::string(file), nested));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFlagFiles(std::span<char* const> arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const absl::string_view text = arguments[i];
    if (text == "--") break;
    const std::optional<Argument> argument = ReadArgument(text);
    if (!argument.has_value() || argument->name != ToAbsl(kFlagFile)) continue;
    const bool is_next = !argument->value.has_value() && i + 1 < arguments.size();
    const absl::Status checked = CheckFiles(is_next ? arguments[i + 1] : argument->value.value_or(""), /*nested=*/0);
    if (!checked.ok()) return absl::InvalidArgumentError(absl::StrCat("--flagfile: ", checked.message()));
  }
  return absl::OkStatus();
}

}  // namespace planwright::server
