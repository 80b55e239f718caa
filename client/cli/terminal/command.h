// One sub-command, and what the program hands to it.
#ifndef PLANWRIGHT_CLIENT_CLI_TERMINAL_COMMAND_H_
#define PLANWRIGHT_CLIENT_CLI_TERMINAL_COMMAND_H_

#include <cstddef>
#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/terminal/exit_code.h"
#include "client/cli/terminal/flags.h"
#include "client/library/planning_client.h"
#include "client/library/server_connection.h"
#include "client/report/line_length.h"

namespace planwright::client {

// Characters, at least one of each.
struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

// The world around the program; tests make their own.
struct Environment {
  std::istream& in;
  // Results, and nothing else.
  std::ostream& out;
  // Errors, warnings, progress.
  std::ostream& err;
  bool err_is_terminal = false;
  // The size of the terminal that `out` is, at this moment; empty: it is none.
  std::function<TerminalSize()> out_terminal = {};
  // The lengths of the lines of both: as wide as the terminals that they are.
  LineLengths line_lengths = {};
  // What the environment says.
  ServerConnection default_connection;
  // What the user's file says, for its own server alone. Neither has an address: plan in-process.
  ServerConnection configured_connection = {};
  // Requested by ^C.
  std::stop_token interrupt;
  // A client of the server at the address, or of the service in this process when there is none.
  std::function<std::unique_ptr<PlanningClient>(const ServerConnection& connection)> connect;
};

// A fresh object for each run: its flags are its members.
class Command {
 public:
  virtual ~Command() = default;

  virtual std::string_view name() const = 0;
  // One line.
  virtual std::string_view summary() const = 0;
  // How it is called and examples, for the help.
  virtual std::string_view usage() const = 0;
  // Set members of this object.
  virtual std::vector<FlagGroup> Flags() = 0;
  // After the flags were set. An error is printed and gives the exit code (errors.h).
  virtual absl::StatusOr<ExitCode> Run(Environment& environment) = 0;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_TERMINAL_COMMAND_H_
