#include "client/webhook/settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/reflection.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/library/error_details.h"
#include "client/library/tls_check.h"
#include "client/library/version.h"
#include "server/main/configuration/config_sources.h"
#include "server/main/configuration/listen_address.h"
#include "server/main/tls/text_file.h"

ABSL_FLAG(std::string, listen_address, "127.0.0.1:8443", "where reviews are taken over HTTPS; port 0 takes a free one");
ABSL_FLAG(std::string, metrics_address, "127.0.0.1:9465",
          "where /metrics, /livez and /readyz are served over HTTP; empty: nowhere");
ABSL_FLAG(std::string, tls_cert_file, "", "the hook's certificate and its chain, PEM; read again when it changes");
ABSL_FLAG(std::string, tls_key_file, "", "the private key of --tls_cert_file, PEM, without a password");
ABSL_FLAG(std::string, tls_client_ca_file, "",
          "authorities that sign the API server's certificate, PEM: only who shows one is answered");
ABSL_FLAG(std::string, server, "127.0.0.1:50051", "the planwrightd that plans: HOST:PORT or dns:///HOST:PORT");
ABSL_FLAG(bool, server_tls, false, "reach it over TLS; --server_ca_file says so too");
ABSL_FLAG(std::string, server_ca_file, "", "authorities that sign its certificate, PEM; empty: those of the system");
ABSL_FLAG(std::string, token_file, "", "token for namespaces that --tokens_file does not name; empty: none");
ABSL_FLAG(std::string, tokens_file, "", "tokens by namespace, one \"namespace: token\" a line; empty: none");
ABSL_FLAG(std::string, pools_file, "", "the pools of nodes (docs/kubernetes.md); read again when it changes");
ABSL_FLAG(absl::Duration, pools_max_age, absl::Hours(1),
          "pools that were counted longer ago than this deny nothing; 0: they may be of any age");
ABSL_FLAG(std::string, mode, "annotate", "off, annotate or enforce; annotations of jobs can only tighten it");
ABSL_FLAG(absl::Duration, time_limit, absl::Seconds(2), "time of a search");
ABSL_FLAG(absl::Duration, request_timeout, absl::Seconds(4),
          "from the first byte of a review to the last one of its answer; less than the API server's timeoutSeconds");
ABSL_FLAG(int32_t, max_reviews, 64, "reviews that planwrightd is asked about at the same time");
ABSL_FLAG(int32_t, max_connections, 4096,
          "connections that may be open, a quarter of them of one address; more are closed at once");
ABSL_FLAG(double, max_requests_per_second, 500,
          "of one address, without --tls_client_ca_file; more get 429. 0: any number");
ABSL_FLAG(absl::Duration, drain_delay, absl::ZeroDuration(),
          "how long reviews are still taken after SIGTERM, until nobody sends any here (endpoints are told late); a "
          "second SIGTERM ends it");
ABSL_FLAG(absl::Duration, reload_interval, absl::Seconds(5),
          "how often files are looked at; SIGHUP reads them at once");
ABSL_FLAG(std::string, log_format, "", "text or json, on standard error; empty: text on a terminal, else json");
ABSL_FLAG(std::string, config, "", "file with settings, one \"name = value\" a line");
ABSL_FLAG(bool, validate_config, false, "check all settings and exit: 0, or 1 with what is wrong");

namespace planwright::webhook {
namespace {

using client::ViolationList;

// The flags above, in their order; --config itself cannot be set by a file.
constexpr std::array kSettings =
    std::to_array<std::string_view>({"listen_address", "metrics_address",    "tls_cert_file",
                                     "tls_key_file",   "tls_client_ca_file", "server",
                                     "server_tls",     "server_ca_file",     "token_file",
                                     "tokens_file",    "pools_file",         "pools_max_age",
                                     "mode",           "time_limit",         "request_timeout",
                                     "max_reviews",    "max_connections",    "max_requests_per_second",
                                     "drain_delay",    "reload_interval",    "log_format",
                                     "validate_config"});

std::chrono::milliseconds PositiveTime(absl::Duration value, const char* flag, ViolationList& violations) {
  if (value < absl::Milliseconds(1) || value > absl::Hours(24)) {
    violations.Add(flag, absl::StrCat("must be >= 1ms and <= 24h, is ", absl::FormatDuration(value)));
  }
  return absl::ToChronoMilliseconds(value);
}

int PositiveNumber(int value, int most, const char* flag, ViolationList& violations) {
  if (value < 1 || value > most) violations.Add(flag, absl::StrCat("must be from 1 to ", most, ", is ", value));
  return value;
}

std::string Address(std::string address, bool may_be_empty, const char* flag, ViolationList& violations) {
  if (!(may_be_empty && address.empty()) && !server::IsListenAddress(address)) {
    violations.Add(flag, absl::StrCat("must be HOST:PORT", may_be_empty ? " or empty" : "", ", is \"", address, "\""));
  }
  return address;
}

HttpsLimits ReadLimits(bool asks_for_certificates, ViolationList& violations) {
  HttpsLimits limits;
  limits.deadline = PositiveTime(absl::GetFlag(FLAGS_request_timeout), "--request_timeout", violations);
  limits.sending = std::min(limits.sending, limits.deadline / 4);
  limits.max_connections =
      PositiveNumber(absl::GetFlag(FLAGS_max_connections), 1'000'000, "--max_connections", violations);
  const double rate = absl::GetFlag(FLAGS_max_requests_per_second);
  if (!(rate >= 0)) violations.Add("--max_requests_per_second", absl::StrCat("must be >= 0, is ", rate));
  limits.max_requests_per_second = asks_for_certificates ? 0 : rate;
  return limits;
}

std::chrono::milliseconds ReadDrainDelay(ViolationList& violations) {
  const absl::Duration delay = absl::GetFlag(FLAGS_drain_delay);
  if (delay < absl::ZeroDuration() || delay > absl::Minutes(10)) {
    violations.Add("--drain_delay", absl::StrCat("must be 0 to 10m, is ", absl::FormatDuration(delay)));
  }
  return absl::ToChronoMilliseconds(delay);
}

server::TlsFiles ReadTlsFiles(ViolationList& violations) {
  const server::TlsFiles files = {.certificate_chain = absl::GetFlag(FLAGS_tls_cert_file),
                                  .private_key = absl::GetFlag(FLAGS_tls_key_file),
                                  .client_ca = absl::GetFlag(FLAGS_tls_client_ca_file),
                                  .client_crl = ""};
  if (files.certificate_chain.empty()) violations.Add("--tls_cert_file", "is missing: API servers speak TLS only");
  if (files.private_key.empty()) violations.Add("--tls_key_file", "is missing");
  return files;
}

client::ServerConnection ReadService(ViolationList& violations) {
  client::ServerConnection service;
  service.address = absl::GetFlag(FLAGS_server);
  if (service.address.empty()) violations.Add("--server", "must not be empty");
  const std::string file = absl::GetFlag(FLAGS_server_ca_file);
  service.use_tls = absl::GetFlag(FLAGS_server_tls) || !file.empty();
  if (file.empty()) return service;
  const auto text = server::ReadTextFile(file);
  if (!text.ok()) {
    violations.Add("--server_ca_file", std::string(text.status().message()));
    return service;
  }
  service.ca_certificates = *text;
  if (!client::CheckTls(service).ok()) violations.Add("--server_ca_file", "must hold certificates in PEM form");
  return service;
}

Policy ReadPolicy(ViolationList& violations) {
  Policy policy;
  const std::string name = absl::GetFlag(FLAGS_mode);
  const std::optional<Mode> mode = ModeNamed(name);
  if (!mode.has_value()) {
    violations.Add("--mode", absl::StrCat("must be off, annotate or enforce, is \"", name, "\""));
  }
  policy.mode = mode.value_or(Mode::kAnnotate);
  policy.time_limit = absl::FromChrono(PositiveTime(absl::GetFlag(FLAGS_time_limit), "--time_limit", violations));
  const absl::Duration age = absl::GetFlag(FLAGS_pools_max_age);
  if (age < absl::ZeroDuration()) violations.Add("--pools_max_age", "must be >= 0");
  policy.max_pools_age = age == absl::ZeroDuration() ? absl::InfiniteDuration() : age;
  return policy;
}

server::LogFormat ReadLogFormat(ViolationList& violations) {
  const std::string format = absl::GetFlag(FLAGS_log_format);
  if (format == "text") return server::LogFormat::kText;
  if (format == "json") return server::LogFormat::kJson;
  if (!format.empty()) violations.Add("--log_format", absl::StrCat("must be text or json, is \"", format, "\""));
  return isatty(STDERR_FILENO) == 1 ? server::LogFormat::kText : server::LogFormat::kJson;
}

absl::StatusOr<Settings> ReadSettings() {
  ViolationList violations;
  Settings settings;
  settings.listen_address = Address(absl::GetFlag(FLAGS_listen_address), false, "--listen_address", violations);
  settings.metrics_address = Address(absl::GetFlag(FLAGS_metrics_address), true, "--metrics_address", violations);
  settings.tls = ReadTlsFiles(violations);
  settings.limits = ReadLimits(!settings.tls.client_ca.empty(), violations);
  settings.drain_delay = ReadDrainDelay(violations);
  settings.service = ReadService(violations);
  settings.token_file = absl::GetFlag(FLAGS_token_file);
  settings.tokens_file = absl::GetFlag(FLAGS_tokens_file);
  settings.pools_file = absl::GetFlag(FLAGS_pools_file);
  if (settings.pools_file.empty()) violations.Add("--pools_file", "is missing: nothing can be judged without pools");
  settings.policy = ReadPolicy(violations);
  settings.max_reviews = PositiveNumber(absl::GetFlag(FLAGS_max_reviews), 1024, "--max_reviews", violations);
  settings.reload_interval = PositiveTime(absl::GetFlag(FLAGS_reload_interval), "--reload_interval", violations);
  settings.log_format = ReadLogFormat(violations);
  if (absl::FromChrono(settings.limits.deadline) <= settings.policy.time_limit) {
    violations.Add("--request_timeout", "must be longer than --time_limit, so that answers arrive");
  }
  if (!violations.empty()) return violations.ToStatus("settings");
  return settings;
}

}  // namespace

absl::StatusOr<Invocation> ReadInvocation(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  Invocation invocation;
  if (server::HasArgument(arguments, {"--help", "-help", "-h"})) {
    invocation.action = Action::kHelp;
    return invocation;
  }
  if (server::HasArgument(arguments, {"--version", "-version"})) {
    invocation.action = Action::kVersion;
    return invocation;
  }
  const absl::Status applied = server::ApplyFileAndEnvironment(arguments, kSettings);
  if (!applied.ok()) return applied;
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  if (rest.size() > 1) return absl::InvalidArgumentError(absl::StrCat("\"", rest[1], "\" is not a flag (see --help)"));
  auto settings = ReadSettings();
  if (!settings.ok()) return settings.status();
  invocation.settings = *std::move(settings);
  if (absl::GetFlag(FLAGS_validate_config)) invocation.action = Action::kValidate;
  return invocation;
}

std::string HelpText() {
  std::string text = absl::StrCat(
      "planwright-webhook ", client::kVersion,
      ": judges jobs of Kubernetes when they are created (docs/kubernetes.md).\n"
      "\n"
      "Every flag can be set by the environment (PLANWRIGHT_LISTEN_ADDRESS) and by a file (--config) as well.\n"
      "\n");
  for (const std::string_view name : kSettings) {
    const absl::CommandLineFlag* flag = absl::FindCommandLineFlag({name.data(), name.size()});
    absl::StrAppend(&text, "  --", flag->Name(), "  (default: \"", flag->DefaultValue(), "\")\n      ", flag->Help(),
                    "\n");
  }
  return text;
}

}  // namespace planwright::webhook
