#include "server/main/configuration/config_sources.h"

#include <algorithm>
#include <cstdlib>

#include "absl/flags/reflection.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "server/main/tls/text_file.h"

namespace planwright::server {
namespace {

std::string Unquote(absl::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return std::string(text);
}

absl::Status ApplyFile(const std::string& file, std::span<const std::string_view> names) {
  if (file.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> text = ReadTextFile(file);
  if (!text.ok()) return absl::InvalidArgumentError(absl::StrCat("--config: ", text.status().message()));
  ASSIGN_OR_RETURN(const std::vector<Setting> settings, ParseConfigText(*text, file));
  return ApplySettings(settings, names);
}

}  // namespace

absl::StatusOr<std::vector<Setting>> ParseConfigText(std::string_view text, std::string_view file_name) {
  std::vector<Setting> settings;
  int number = 0;
  for (const absl::string_view raw : absl::StrSplit(ToAbsl(text), '\n')) {
    const std::string origin = absl::StrCat(ToAbsl(file_name), ":", ++number);
    const absl::string_view line = absl::StripAsciiWhitespace(raw);
    if (line.empty() || line.front() == '#') continue;
    const std::size_t separator = line.find_first_of("=:");
    if (separator == absl::string_view::npos || separator == 0) {
      return absl::InvalidArgumentError(absl::StrCat(origin, ": must be \"name = value\", is \"", line, "\""));
    }
    settings.push_back({.name = std::string(absl::StripTrailingAsciiWhitespace(line.substr(0, separator))),
                        .value = Unquote(absl::StripLeadingAsciiWhitespace(line.substr(separator + 1))),
                        .origin = origin});
  }
  return settings;
}

std::vector<Setting> ReadEnvironment(std::span<const std::string_view> names,
                                     const std::function<std::optional<std::string>(const std::string&)>& getenv) {
  std::vector<Setting> settings;
  for (const std::string_view name : names) {
    const std::string variable = absl::StrCat("PLANWRIGHT_", absl::AsciiStrToUpper(ToAbsl(name)));
    const std::optional<std::string> value = getenv(variable);
    if (value.has_value()) settings.push_back({std::string(name), *value, variable});
  }
  return settings;
}

std::optional<std::string> Getenv(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::optional<std::string> ArgumentOf(std::span<char*> arguments, std::string_view flag) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    if (!argument.starts_with('-')) continue;
    argument.remove_prefix(argument.starts_with("--") ? 2 : 1);
    if (argument == flag && i + 1 < arguments.size()) return arguments[i + 1];
    if (argument.starts_with(flag) && argument.substr(flag.size()).starts_with('=')) {
      return std::string(argument.substr(flag.size() + 1));
    }
  }
  return std::nullopt;
}

bool HasArgument(std::span<char*> arguments, std::initializer_list<std::string_view> names) {
  return std::any_of(arguments.begin() + 1, arguments.end(), [&](std::string_view argument) {
    return std::find(names.begin(), names.end(), argument) != names.end();
  });
}

absl::Status ApplySettings(std::span<const Setting> settings, std::span<const std::string_view> names) {
  for (const Setting& setting : settings) {
    absl::CommandLineFlag* flag = absl::FindCommandLineFlag(setting.name);
    if (flag == nullptr || std::find(names.begin(), names.end(), setting.name) == names.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(setting.origin, ": there is no setting \"", setting.name, "\" (see --help)"));
    }
    std::string error;
    if (!flag->ParseFrom(setting.value, &error)) {
      return absl::InvalidArgumentError(absl::StrCat(setting.origin, ": --", setting.name, ": ", error));
    }
  }
  return absl::OkStatus();
}

absl::Status ApplyFileAndEnvironment(std::span<char*> arguments, std::span<const std::string_view> names) {
  const std::optional<std::string> stated = ArgumentOf(arguments, "config");
  RETURN_IF_ERROR(ApplyFile(stated.has_value() ? *stated : Getenv("PLANWRIGHT_CONFIG").value_or(""), names));
  return ApplySettings(ReadEnvironment(names, &Getenv), names);
}

}  // namespace planwright::server
