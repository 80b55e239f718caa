// The program: sub-commands, help, exit codes.
#ifndef PLANWRIGHT_CLIENT_CLI_PROGRAM_H_
#define PLANWRIGHT_CLIENT_CLI_PROGRAM_H_

#include <span>
#include <string>

#include "client/cli/terminal/command.h"
#include "client/cli/terminal/exit_code.h"

namespace planwright::client {

// Runs `planwright ARGUMENTS...`.
ExitCode RunProgram(std::span<const std::string> arguments, Environment& environment);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_PROGRAM_H_
