// ^C as a stop request.
#ifndef PLANWRIGHT_CLIENT_CLI_INTERRUPT_H_
#define PLANWRIGHT_CLIENT_CLI_INTERRUPT_H_

#include <stop_token>

namespace planwright::client {

// From now on the first SIGINT or SIGTERM requests the stop; a second one ends the process at once with exit code 130.
// Once per process, before any other thread exists: they must inherit the blocked signals.
std::stop_token StopOnInterrupt();

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_INTERRUPT_H_
