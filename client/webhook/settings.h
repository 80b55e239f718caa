// Everything that planwright-webhook can be told.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_SETTINGS_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_SETTINGS_H_

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "client/library/server_connection.h"
#include "client/webhook/http/https_server.h"
#include "client/webhook/review/judge.h"
#include "server/main/tls/tls_identity.h"
#include "server/observability/log.h"

namespace planwright::webhook {

// Complete and checked.
struct Settings {
  std::string listen_address;
  // Empty: no metrics and no probes.
  std::string metrics_address;
  HttpsLimits limits;
  // How long reviews are still taken when the hook is told to end: those who send them learn of it late.
  std::chrono::milliseconds drain_delay{0};
  server::TlsFiles tls;
  // How planwrightd is reached; the token stands in a file.
  client::ServerConnection service;
  // Names of files; empty: none. A file that changes is read again.
  std::string token_file;
  std::string tokens_file;
  std::string pools_file;
  Policy policy;
  // Reviews that are judged at the same time; as many again may wait.
  int max_reviews = 0;
  // How often files are looked at.
  std::chrono::milliseconds reload_interval{0};
  server::LogFormat log_format = server::LogFormat::kText;
};

// What the command line asks for.
enum class Action { kServe, kValidate, kHelp, kVersion };

struct Invocation {
  Action action = Action::kServe;
  // Meaningful for kServe and kValidate.
  Settings settings;
};

// Reads flags, environment (PLANWRIGHT_LISTEN_ADDRESS) and the --config file; flag > environment > file > default. An
// unknown flag or a value that a flag cannot take ends the process with exit code 1 and a message that names the flag
// (absl::ParseCommandLine). Errors: INVALID_ARGUMENT, with every setting that is wrong by the name of its flag.
absl::StatusOr<Invocation> ReadInvocation(int argc, char** argv);

std::string HelpText();

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_SETTINGS_H_
