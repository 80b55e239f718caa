// The sub-commands.
#ifndef PLANWRIGHT_CLIENT_CLI_COMMANDS_COMMANDS_H_
#define PLANWRIGHT_CLIENT_CLI_COMMANDS_COMMANDS_H_

#include <memory>
#include <vector>

#include "client/cli/terminal/command.h"

namespace planwright::client {

std::unique_ptr<Command> MakePlanCommand();
std::unique_ptr<Command> MakeCompareCommand();
std::unique_ptr<Command> MakeEvaluateCommand();
std::unique_ptr<Command> MakeSimulateCommand();
std::unique_ptr<Command> MakeImportCommand();
std::unique_ptr<Command> MakeExportCommand();
std::unique_ptr<Command> MakeCalibrateCommand();
std::unique_ptr<Command> MakeModelsCommand();
std::unique_ptr<Command> MakeTopologiesCommand();
std::unique_ptr<Command> MakeServerInfoCommand();
std::unique_ptr<Command> MakeRegisterCommand();
std::unique_ptr<Command> MakePlansCommand();
std::unique_ptr<Command> MakeSubmitCommand();
std::unique_ptr<Command> MakeWaitCommand();
std::unique_ptr<Command> MakeOperationsCommand();
std::unique_ptr<Command> MakeSweepCommand();
std::unique_ptr<Command> MakeTopCommand();
std::unique_ptr<Command> MakeAdminCommand();
std::unique_ptr<Command> MakeCheckCommand();

// All of them, in the order of the help.
std::vector<std::unique_ptr<Command>> MakeCommands();

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_COMMANDS_COMMANDS_H_
