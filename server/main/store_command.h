// `planwrightd store check|backup|restore`: what operators do with a store as a whole.
#ifndef PLANWRIGHT_SERVER_MAIN_STORE_COMMAND_H_
#define PLANWRIGHT_SERVER_MAIN_STORE_COMMAND_H_

#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace planwright::server {

// Whether the arguments of planwrightd, without its own name, are for RunStoreCommand.
bool IsStoreCommand(std::span<const std::string> arguments);

// Runs "store", a command and its options. Results go to `out`, progress and what went wrong to `error`. Returns the
// exit code: 0 done, 1 it could not be done (nothing has changed), 2 the check has findings.
int RunStoreCommand(std::span<const std::string> arguments, std::ostream& out, std::ostream& error);

// What `planwrightd store --help` prints.
std::string_view StoreHelpText();

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_STORE_COMMAND_H_
