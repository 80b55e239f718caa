// Where settings come from besides the command line: the environment and a file.
//
// Every setting is a flag; absl::ParseCommandLine runs last, so the order of precedence is
// flag > environment > file > default.
#ifndef PLANWRIGHT_SERVER_MAIN_CONFIGURATION_CONFIG_SOURCES_H_
#define PLANWRIGHT_SERVER_MAIN_CONFIGURATION_CONFIG_SOURCES_H_

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace planwright::server {

struct Setting {
  std::string name;
  std::string value;
  // Where it stands, for messages: "planwrightd.conf:3" or "PLANWRIGHT_CPUS".
  std::string origin;
};

// Lines `name = value` or `name: value`; blank lines and lines that start with '#' are skipped; a value may stand in
// double quotes. Errors: INVALID_ARGUMENT, a line that is none of these.
absl::StatusOr<std::vector<Setting>> ParseConfigText(std::string_view text, std::string_view file_name);

// The settings among `names` that the environment sets: listen_address as PLANWRIGHT_LISTEN_ADDRESS. `getenv` returns
// nullopt for variables that are not set.
std::vector<Setting> ReadEnvironment(std::span<const std::string_view> names,
                                     const std::function<std::optional<std::string>(const std::string&)>& getenv);

// An environment variable; nullopt: it is not set.
std::optional<std::string> Getenv(const std::string& name);

// The value of a flag that must be known before the flags are parsed: --flag=VALUE or --flag VALUE; nullopt: it is not
// there. As Abseil does, takes one hyphen for two.
std::optional<std::string> ArgumentOf(std::span<char*> arguments, std::string_view flag);

// Whether one of `names`, written with their hyphens, stands among the arguments.
bool HasArgument(std::span<char*> arguments, std::initializer_list<std::string_view> names);

// Sets the flags. Errors: INVALID_ARGUMENT, a name that is none of `names`, or a value that its flag does not take; the
// message names the origin and the flag.
absl::Status ApplySettings(std::span<const Setting> settings, std::span<const std::string_view> names);

// Sets the flags among `names` that the file of --config, else of PLANWRIGHT_CONFIG, or the environment has, the latter
// over the former. Errors: INVALID_ARGUMENT as above, or a file that cannot be read.
absl::Status ApplyFileAndEnvironment(std::span<char*> arguments, std::span<const std::string_view> names);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_CONFIGURATION_CONFIG_SOURCES_H_
