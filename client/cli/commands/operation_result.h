// The end of an operation, for the terminal.
#ifndef PLANWRIGHT_CLIENT_CLI_COMMANDS_OPERATION_RESULT_H_
#define PLANWRIGHT_CLIENT_CLI_COMMANDS_OPERATION_RESULT_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/commands/store_access.h"
#include "client/cli/terminal/command.h"
#include "client/cli/terminal/shared_flags.h"
#include "planwright/v1/operation.pb.h"

namespace planwright::client {

// Waits until the operation has ended. ^C ends the waiting (CANCELLED), not the operation.
absl::StatusOr<v1::Operation> WaitForEnd(StoreClient& store, const std::string& name, const Environment& environment);

// Prints its plan or its ranked rows; where no row has a plan, the code is that of `compare`. Its error is returned as
// CreatePlan would have.
absl::StatusOr<ExitCode> WriteResult(const v1::Operation& operation, const OutputFlags& output,
                                     Environment& environment);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_COMMANDS_OPERATION_RESULT_H_
