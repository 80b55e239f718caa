#include "client/cli/terminal/flags.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/library/did_you_mean.h"

namespace planwright::client {
namespace {

constexpr std::string_view kPrefix = "--";
constexpr std::size_t kHelpColumn = 34;
constexpr std::size_t kHelpWidth = 100;

template <typename Predicate>
const Flag* FindIf(std::span<const FlagGroup> groups, const Predicate& is_sought) {
  for (const FlagGroup& group : groups) {
    for (const Flag& flag : group.flags) {
      if (is_sought(flag)) return &flag;
    }
  }
  return nullptr;
}

const Flag* FlagNamed(const std::string& name, std::span<const FlagGroup> groups) {
  return FindIf(groups, [&](const Flag& flag) { return flag.name == name; });
}

absl::Status UnknownFlag(std::string_view name, std::span<const FlagGroup> groups) {
  std::vector<std::string> names;
  for (const FlagGroup& group : groups) {
    for (const Flag& flag : group.flags) names.push_back(flag.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--", std::string(name), " is not a flag of this command", DidYouMean(name, names, kPrefix)));
}

std::string HelpOf(const Flag& flag) {
  std::string line = absl::StrCat("  --", flag.name, flag.value.empty() ? "" : "=", flag.value);
  if (line.size() + 2 > kHelpColumn) {
    line += "\n" + std::string(kHelpColumn, ' ');
  } else {
    line.resize(kHelpColumn, ' ');
  }
  std::size_t column = kHelpColumn;
  for (const absl::string_view word : absl::StrSplit(flag.help, ' ')) {
    if (column > kHelpColumn && column + word.size() > kHelpWidth) {
      line += "\n" + std::string(kHelpColumn, ' ');
      column = kHelpColumn;
    }
    if (column > kHelpColumn) line += ' ';
    absl::StrAppend(&line, word);
    column += word.size() + 1;
  }
  return line + "\n";
}

// One argument taken apart.
struct Argument {
  std::string name;
  bool has_value = false;
  std::string value;
};

Argument TakeApart(std::string_view text) {
  text.remove_prefix(kPrefix.size());
  const std::size_t equals = text.find('=');
  Argument argument;
  argument.name = text.substr(0, equals);
  std::replace(argument.name.begin(), argument.name.end(), '-', '_');
  if (equals == std::string_view::npos) return argument;
  argument.has_value = true;
  argument.value = text.substr(equals + 1);
  return argument;
}

bool IsFlag(std::string_view argument) { return argument.starts_with(kPrefix) && argument.size() > kPrefix.size(); }

absl::Status Set(const Flag& flag, std::string_view value) {
  const absl::Status status = flag.set(value);
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat("--", flag.name, ": ", status.message()));
}

// Sets what the first argument, and the second where it is its value, says; takes them off `arguments`.
absl::Status TakeFirst(std::span<const std::string>& arguments, std::span<const FlagGroup> groups) {
  const std::string& first = arguments.front();
  arguments = arguments.subspan(1);
  if (!IsFlag(first)) {
    const Flag* bare = FindIf(groups, [](const Flag& flag) { return flag.is_bare; });
    if (bare != nullptr && !first.starts_with(kPrefix)) return Set(*bare, first);
    return absl::InvalidArgumentError(absl::StrCat("\"", first, "\" is not a flag; flags begin with --"));
  }
  const Argument argument = TakeApart(first);
  const Flag* flag = FlagNamed(argument.name, groups);
  if (flag == nullptr) return UnknownFlag(argument.name, groups);
  if (argument.has_value) return Set(*flag, argument.value);
  if (flag->value.empty()) return Set(*flag, "true");
  if (arguments.empty() || arguments.front().starts_with(kPrefix)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag->name, " needs a value: --", flag->name, "=", flag->value));
  }
  const std::string& value = arguments.front();
  arguments = arguments.subspan(1);
  return Set(*flag, value);
}

}  // namespace

Flag StringFlag(std::string name, std::string value, std::string help, std::string& target) {
  return {std::move(name), std::move(value), std::move(help), [&target](std::string_view text) {
            target = text;
            return absl::OkStatus();
          }};
}

Flag SwitchFlag(std::string name, std::string help, bool& target) {
  return {std::move(name), "", std::move(help), [&target](std::string_view text) { return ParseSwitch(text, target); }};
}

absl::Status ParseSwitch(std::string_view text, bool& target) {
  if (text == "true" || text == "1" || text == "yes") {
    target = true;
  } else if (text == "false" || text == "0" || text == "no") {
    target = false;
  } else {
    return absl::InvalidArgumentError(absl::StrCat("must be true or false, is \"", std::string(text), "\""));
  }
  return absl::OkStatus();
}

absl::Status NotOneOf(std::string_view text, std::span<const std::string> choices) {
  return absl::InvalidArgumentError(absl::StrCat("must be one of ", absl::StrJoin(choices, ", "), ", is \"",
                                                 std::string(text), "\"", DidYouMean(text, choices)));
}

absl::Status ParseFlags(std::span<const std::string> arguments, std::span<const FlagGroup> groups) {
  while (!arguments.empty()) {
    const absl::Status status = TakeFirst(arguments, groups);
    if (!status.ok()) return status;
  }
  for (const FlagGroup& group : groups) {
    const absl::Status status = group.check ? group.check() : absl::OkStatus();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::vector<const Flag*> GivenFlags(std::span<const std::string> arguments, std::span<const FlagGroup> groups) {
  std::vector<const Flag*> given;
  for (const std::string& argument : arguments) {
    if (IsFlag(argument)) given.push_back(FlagNamed(TakeApart(argument).name, groups));
  }
  return given;
}

std::string FlagsHelp(std::span<const FlagGroup> groups) {
  std::string text;
  for (const FlagGroup& group : groups) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", group.heading, ":\n");
    for (const Flag& flag : group.flags) text += HelpOf(flag);
  }
  return text;
}

}  // namespace planwright::client
