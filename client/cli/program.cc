#include "client/cli/program.h"

#include <planwright_commit.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/commands/commands.h"
#include "client/cli/completion.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/flags.h"
#include "client/library/did_you_mean.h"
#include "client/library/version.h"
#include "client/report/line_length.h"

namespace planwright::client {
namespace {

constexpr char kHelpCommand[] = "help";
constexpr char kVersionCommand[] = "version";
// Empty: not known.
constexpr char kCommit[] = PLANWRIGHT_COMMIT;

bool IsHelpFlag(std::string_view argument) {
  return argument == "--help" || argument == "-h" || argument == "--help=true";
}

std::string ProgramHelp() {
  std::string text =
      "Planwright places a DNN on a cluster: which operators run where, and how far that is from the best possible.\n"
      "\n"
      "Usage: planwright COMMAND [flags]\n"
      "\n"
      "Commands:\n";
  for (const auto& command : MakeCommands()) {
    absl::StrAppendFormat(&text, "  %-14s%s\n", std::string(command->name()), std::string(command->summary()));
  }
  absl::StrAppendFormat(&text, "  %-14s%s\n", kVersionCommand, "print the version");
  absl::StrAppendFormat(&text, "  %-14s%s\n", kHelpCommand, "explain a command: planwright help plan");
  return absl::StrCat(
      text,
      "\n"
      "Try: planwright plan --graph=zoo:bert-large --cluster=zoo:dgx1-v100:1\n"
      "\n"
      "Exit codes: 0 done; 1 internal error; 2 usage or invalid input; 3 infeasible, or an invalid plan;\n"
      "4 the server cannot be reached or refused; 5 no plan found, and none proven impossible; 130 interrupted.\n");
}

std::string CommandHelp(Command& command) {
  return absl::StrCat("planwright ", std::string(command.name()), ": ", std::string(command.summary()),
                      "\n\nUsage: ", std::string(command.usage()), "\n", FlagsHelp(command.Flags()));
}

absl::StatusOr<std::unique_ptr<Command>> FindCommand(const std::string& name) {
  std::vector<std::string> names = {kHelpCommand, kVersionCommand};
  for (auto& command : MakeCommands()) {
    if (command->name() == name) return std::move(command);
    names.emplace_back(command->name());
  }
  return UsageError(absl::StrCat("\"", name, "\" is not a command", DidYouMean(name, names)),
                    "`planwright help` lists the commands.");
}

absl::StatusOr<ExitCode> Help(std::span<const std::string> arguments, Environment& environment) {
  if (arguments.empty() || arguments[0] == kHelpCommand || arguments[0] == kVersionCommand) {
    environment.out << ProgramHelp();
    return ExitCode::kOk;
  }
  const auto command = FindCommand(arguments[0]);
  if (!command.ok()) return command.status();
  environment.out << CommandHelp(**command);
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Dispatch(std::span<const std::string> arguments, Environment& environment) {
  if (arguments.empty()) return UsageError("a command is missing", "`planwright help` lists the commands.");
  const std::string& name = arguments[0];
  const auto rest = arguments.subspan(1);
  if (name == kHelpCommand) return Help(rest, environment);
  if (IsHelpFlag(name)) return Help({}, environment);
  if (name == kVersionCommand || name == "--version") {
    environment.out << "planwright " << kVersion << (*kCommit == '\0' ? "" : absl::StrCat(" (", kCommit, ")")) << "\n";
    return ExitCode::kOk;
  }
  const auto command = FindCommand(name);
  if (!command.ok()) return command.status();
  if (std::any_of(rest.begin(), rest.end(), IsHelpFlag)) return Help(arguments.first(1), environment);
  const std::vector<FlagGroup> flags = (*command)->Flags();
  const absl::Status parsed = ParseFlags(rest, flags);
  if (!parsed.ok()) return WithDefaultHint(parsed, absl::StrCat("`planwright help ", name, "` explains the flags."));
  auto result = (*command)->Run(environment);
  return result.ok() ? std::move(result) : WithFlags(result.status(), rest, flags);
}

absl::StatusOr<ExitCode> DispatchWithoutExceptions(std::span<const std::string> arguments, Environment& environment) {
  try {
    return Dispatch(arguments, environment);
  } catch (const std::bad_alloc&) {
    return WithHint(absl::InternalError("out of memory"),
                    "Make the request smaller, or ask a planwrightd on a larger machine with --server.");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

}  // namespace

std::vector<std::unique_ptr<Command>> MakeCommands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(MakePlanCommand());
  commands.push_back(MakeCompareCommand());
  commands.push_back(MakeEvaluateCommand());
  commands.push_back(MakeSimulateCommand());
  commands.push_back(MakeImportCommand());
  commands.push_back(MakeExportCommand());
  commands.push_back(MakeCalibrateCommand());
  commands.push_back(MakeModelsCommand());
  commands.push_back(MakeTopologiesCommand());
  commands.push_back(MakeRegisterCommand());
  commands.push_back(MakePlansCommand());
  commands.push_back(MakeSubmitCommand());
  commands.push_back(MakeWaitCommand());
  commands.push_back(MakeOperationsCommand());
  commands.push_back(MakeSweepCommand());
  commands.push_back(MakeServerInfoCommand());
  commands.push_back(MakeTopCommand());
  commands.push_back(MakeAdminCommand());
  commands.push_back(MakeCheckCommand());
  commands.push_back(MakeCompletionCommand());
  return commands;
}

ExitCode RunProgram(std::span<const std::string> arguments, Environment& environment) {
  const ScopedLineLengths lengths(environment.line_lengths);
  const auto result = DispatchWithoutExceptions(arguments, environment);
  if (result.ok()) return *result;
  PrintError(result.status(), environment.err);
  return ExitCodeFor(result.status());
}

}  // namespace planwright::client
