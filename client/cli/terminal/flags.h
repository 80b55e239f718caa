// Flags of a sub-command: "--name=value", "--name value", and "--name" for switches.
//
// A table of flags is at once the parser and the help text. Hyphens in names count as underscores. The last of several
// equal flags wins unless its setter collects.
#ifndef PLANWRIGHT_CLIENT_CLI_TERMINAL_FLAGS_H_
#define PLANWRIGHT_CLIENT_CLI_TERMINAL_FLAGS_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace planwright::client {

struct Flag {
  // With underscores, without "--".
  std::string name;
  // What the value looks like, for people: "FILE"; empty: a switch, which needs no value.
  std::string value;
  std::string help;
  // Takes the value. Its error says what the value must be, e.g. "must be >= 0, is -1"; the flag is named for it.
  std::function<absl::Status(std::string_view value)> set;
  // Whether an argument that is no flag is its value; at most one of a command.
  bool is_bare = false;
  // The field of the request that it sets, as violations name it ("problem.num_stages"); empty: none, or not said.
  std::string field = {};
};

// Flags that the help shows together.
struct FlagGroup {
  std::string heading;
  std::vector<Flag> flags;
  // Whether those that are given go together; called after the last one is set.
  std::function<absl::Status()> check = nullptr;
};

// Setters for the usual types; the target outlives the flag.
Flag StringFlag(std::string name, std::string value, std::string help, std::string& target);
Flag SwitchFlag(std::string name, std::string help, bool& target);

// The boolean that `text` says: true, false, 1, 0, yes, no. INVALID_ARGUMENT otherwise.
absl::Status ParseSwitch(std::string_view text, bool& target);

// INVALID_ARGUMENT: `text` is none of `choices`; names them, and the closest.
absl::Status NotOneOf(std::string_view text, std::span<const std::string> choices);

// Sets the flags that `arguments` give. INVALID_ARGUMENT: unknown flag (with the closest known one), bad or missing
// value, an argument that is no flag, flags of a group that do not go together.
absl::Status ParseFlags(std::span<const std::string> arguments, std::span<const FlagGroup> groups);

// The flags that `arguments` give, in that order. REQUIRES: ParseFlags has taken them.
std::vector<const Flag*> GivenFlags(std::span<const std::string> arguments, std::span<const FlagGroup> groups);

// One paragraph for each flag, under the headings.
std::string FlagsHelp(std::span<const FlagGroup> groups);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_TERMINAL_FLAGS_H_
