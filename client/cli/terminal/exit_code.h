// What the program tells the shell.
#ifndef PLANWRIGHT_CLIENT_CLI_TERMINAL_EXIT_CODE_H_
#define PLANWRIGHT_CLIENT_CLI_TERMINAL_EXIT_CODE_H_

namespace planwright::client {

enum class ExitCode : int {
  kOk = 0,
  // A defect of ours.
  kInternal = 1,
  // Wrong flags, or input that breaks rules.
  kUsage = 2,
  // Proven that no plan exists; or the plan to evaluate is not valid.
  kInfeasible = 3,
  // The server cannot be reached or refused.
  kServer = 4,
  // No plan was found in time.
  kNoPlan = 5,
  // ^C, as shells count it: 128 + SIGINT.
  kInterrupted = 130,
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_TERMINAL_EXIT_CODE_H_
