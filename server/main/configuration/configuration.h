// Everything that planwrightd can be told.
#ifndef PLANWRIGHT_SERVER_MAIN_CONFIGURATION_CONFIGURATION_H_
#define PLANWRIGHT_SERVER_MAIN_CONFIGURATION_CONFIGURATION_H_

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "server/engine/planning_engine.h"
#include "server/main/configuration/connection_settings.h"
#include "server/main/configuration/secrets.h"
#include "server/observability/log.h"

namespace planwright::server {

// Complete and checked: automatic values are filled in.
struct Configuration {
  std::string listen_address;
  // Empty: no HTTP server.
  std::string metrics_address;
  // Empty: no pages.
  std::string pages_address;
  ConnectionSettings connections;
  EngineConfig engine;
  // As OpenStore takes it.
  std::string store;
  bool migrate = false;
  RoomAlarm store_alarm;
  std::chrono::milliseconds operation_lease{0};
  std::chrono::nanoseconds drain_timeout{0};
  // How long readers of answers may take nothing.
  std::chrono::nanoseconds send_timeout{0};
  // Searches that take as long are logged as slow.
  std::chrono::nanoseconds slow_search{0};
  LogFormat log_format = LogFormat::kText;
  Severity log_level = Severity::kInfo;
  // Where spans of calls go; empty: nowhere.
  std::string otlp_endpoint;
  // Certificates that expire within it are warned of.
  std::chrono::nanoseconds certificate_warning{0};
  bool enable_reflection = false;
  // Empty: the log.
  std::string audit_log_file;
  // Tenants that metrics tell apart.
  int max_tenant_metrics = 0;
  // Have been read once, so they were right at the start.
  SecretFiles secret_files;
};

// What the command line asks for.
enum class Action { kServe, kValidate, kHelp, kVersion };

struct Invocation {
  Action action = Action::kServe;
  // Meaningful for kServe and kValidate.
  Configuration configuration;
};

// Reads flags, environment and --config file (config_sources.h). An unknown flag or a value that a flag cannot take
// ends the process with exit code 1 and a message that names the flag (absl::ParseCommandLine). Errors:
// INVALID_ARGUMENT, with every setting that is wrong by the name of its flag.
absl::StatusOr<Invocation> ReadInvocation(int argc, char** argv);

// Reads the configuration as it is now: what the --config file no longer says has its default again. Not thread-safe.
absl::StatusOr<Configuration> ReadConfigurationAgain(int argc, char** argv);

// What --help prints: what the program does, every flag with its default, the ways to set them.
std::string HelpText();
std::string VersionText();

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_CONFIGURATION_CONFIGURATION_H_
