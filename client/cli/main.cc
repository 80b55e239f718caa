// planwright: the command line of the planning service.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "client/cli/connection_file.h"
#include "client/cli/interrupt.h"
#include "client/cli/program.h"
#include "client/cli/standard_input.h"
#include "client/cli/terminal/errors.h"
#include "client/library/remote_planning_client.h"
#include "client/library/version.h"
#include "client/local/local_planning_client.h"
#include "client/report/line_length.h"

namespace planwright::client {
namespace {

std::unique_ptr<PlanningClient> Connect(const ServerConnection& connection) {
  if (!connection.address.empty()) return std::make_unique<RemotePlanningClient>(connection);
  return std::make_unique<LocalPlanningClient>(ConfigOfThisMachine(kVersion));
}

// An environment variable; empty: it is not set.
std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

ServerConnection ConnectionOfEnvironment() {
  ServerConnection connection;
  connection.address = Variable("PLANWRIGHT_SERVER");
  connection.token = Variable("PLANWRIGHT_TOKEN");
  connection.traceparent = Variable("TRACEPARENT");
  return connection;
}

// Returns the size of the terminal that `descriptor` is; what it does not say is as usual.
TerminalSize SizeOf(int descriptor) {
  TerminalSize size;
  winsize said = {};
  if (ioctl(descriptor, TIOCGWINSZ, &said) != 0) return size;
  if (said.ws_col > 0) size.columns = said.ws_col;
  if (said.ws_row > 0) size.rows = said.ws_row;
  return size;
}

// Columns of the terminal that `descriptor` is. Pipes and files take the longest lines.
std::size_t ColumnsOf(int descriptor) { return isatty(descriptor) == 1 ? SizeOf(descriptor).columns : kMaxLineLength; }

std::function<TerminalSize()> OutTerminal() {
  if (isatty(STDOUT_FILENO) != 1) return {};
  return [] { return SizeOf(STDOUT_FILENO); };
}

int Main(const std::vector<std::string>& arguments) {
  const auto configured = ReadConnectionFile(ConnectionFilePath());
  if (!configured.ok()) {
    PrintError(configured.status(), std::cerr);
    return static_cast<int>(ExitCodeFor(configured.status()));
  }
  const std::stop_token interrupt = StopOnInterrupt();
  StandardInput standard_input(STDIN_FILENO, interrupt);
  std::istream in(&standard_input);
  Environment environment{.in = in,
                          .out = std::cout,
                          .err = std::cerr,
                          .err_is_terminal = isatty(STDERR_FILENO) == 1,
                          .out_terminal = OutTerminal(),
                          .line_lengths = {.report = ColumnsOf(STDOUT_FILENO), .note = ColumnsOf(STDERR_FILENO)},
                          .default_connection = ConnectionOfEnvironment(),
                          .configured_connection = *configured,
                          .interrupt = interrupt,
                          .connect = &Connect};
  return static_cast<int>(RunProgram(arguments, environment));
}

}  // namespace
}  // namespace planwright::client

int main(int argc, char** argv) { return planwright::client::Main({argv + 1, argv + argc}); }
