#include "server/main/configuration/configuration.h"

#include <planwright_commit.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/reflection.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "core/base/violations.h"
#include "core/text/closest_name.h"
#include "server/engine/memory_shares.h"
#include "server/main/configuration/byte_size.h"
#include "server/main/configuration/config_sources.h"
#include "server/main/configuration/flag_files.h"
#include "server/main/configuration/listen_address.h"
#include "server/main/configuration/log_level.h"
#include "server/observability/span_exporter.h"
#include "server/pages/plan_pages.h"
#include "server/serving/admission/resources.h"
#include "server/store/open_store.h"

namespace {

using planwright::server::ByteSize;

constexpr absl::Duration kUnsetDefaultTimeLimit = absl::Seconds(60);

}  // namespace

ABSL_FLAG(std::string, listen_address, "127.0.0.1:50051",
          "where gRPC is served; port 0 takes a free one. Other than loopback needs TLS or --allow_insecure_remote");
ABSL_FLAG(bool, allow_insecure_remote, false, "serve other machines without encryption");
ABSL_FLAG(std::string, tls_cert_file, "",
          "the server's certificate and its chain, PEM; with --tls_key_file: serve TLS only");
ABSL_FLAG(std::string, tls_key_file, "", "the private key of --tls_cert_file, PEM, without a password");
ABSL_FLAG(std::string, tls_client_ca_file, "",
          "certificates of the authorities that sign those of clients, PEM: clients must show one (mutual TLS)");
ABSL_FLAG(std::string, tls_client_crl_file, "",
          "revocation lists of those authorities, PEM: clients whose certificate is on one are refused");
ABSL_FLAG(absl::Duration, certificate_warning, absl::Hours(24 * 30),
          "certificates and revocation lists that expire within this time are warned of, daily");
ABSL_FLAG(std::string, auth_config, "",
          "JSON file with digests of tokens, names of client certificates, their tenants and roles, and the limits of "
          "tenants; empty: everybody may do everything. SIGHUP reads it and the certificates again");
ABSL_FLAG(std::string, metrics_address, "127.0.0.1:9464",
          "where /metrics, /livez and /readyz are served over HTTP; empty: nowhere");
ABSL_FLAG(
    bool, serve_pages, false,
    "serve the pages of stored plans, /plans/{id}, to browsers at --pages_address; with --auth_config or to other "
    "machines only over TLS with --tls_client_ca_file, since a browser sends no token");
ABSL_FLAG(std::string, pages_address, "127.0.0.1:9466", "where --serve_pages serves, over TLS where gRPC is");
ABSL_FLAG(
    int32_t, max_connections, 0,
    "connections that may be open at --listen_address; 0: what the limit of open files and --memory_budget allow. "
    "Beyond it those go that have not carried a call of a known caller");
ABSL_FLAG(absl::Duration, max_connection_age, absl::Minutes(30),
          "after which clients are told to connect anew, so that they spread over servers; their calls go on");
ABSL_FLAG(absl::Duration, keepalive_time, absl::Minutes(1),
          "after which silent clients are asked whether they are there; those that do not answer are cut off");
ABSL_FLAG(int32_t, cpus, 0, "threads that searches share; 0: what CPU affinity and cgroup quota allow");
ABSL_FLAG(ByteSize, memory_budget, ByteSize{},
          "memory for the process, e.g. 8GiB: half of it for the tables of searches, a sixteenth for plans that are "
          "kept, the "
          "rest for requests. 0: 80 % of what the cgroup or the machine has");
ABSL_FLAG(
    int32_t, max_running, 0,
    "requests worked on at the same time, beside one of a tenant of which none is; 0: half of --cpus, at least 2");
ABSL_FLAG(int32_t, max_waiting, 64, "requests that may wait; more are refused with RESOURCE_EXHAUSTED");
ABSL_FLAG(absl::Duration, default_time_limit, kUnsetDefaultTimeLimit,
          "time for a search that comes with neither time limit nor deadline");
ABSL_FLAG(absl::Duration, max_time_limit, absl::Hours(1), "time that no search may exceed");
ABSL_FLAG(absl::Duration, drain_timeout, absl::Seconds(30),
          "on SIGTERM, how long running searches may go on before they are stopped and answer with their best plan");
ABSL_FLAG(absl::Duration, send_timeout, absl::Minutes(1),
          "how long a client may read nothing of its answer before the call is ended; a second more for each MiB");
ABSL_FLAG(absl::Duration, slow_search, absl::Seconds(30),
          "searches that take as long get a line \"slow search\" in the log");
ABSL_FLAG(ByteSize, max_message_bytes, ByteSize{int64_t{64} << 20}, "largest request");
ABSL_FLAG(int64_t, max_operators, planwright::ModelLimits{}.max_operators, "most operators of a graph");
ABSL_FLAG(int64_t, max_tensors, planwright::ModelLimits{}.max_tensors, "most tensors of a graph");
ABSL_FLAG(int64_t, max_devices, planwright::ModelLimits{}.max_devices, "most devices of a cluster");
ABSL_FLAG(int64_t, max_batch_size, planwright::server::EngineConfig{}.max_batch_size,
          "most problems of one BatchCreatePlans");
ABSL_FLAG(ByteSize, cache_bytes, ByteSize{int64_t{256} << 20},
          "plans that are kept in memory for those who ask again, at most a sixteenth of --memory_budget; 0: none");
ABSL_FLAG(int64_t, max_name_bytes, planwright::ModelLimits{}.max_name_bytes, "longest name");
ABSL_FLAG(std::string, store, planwright::server::kDefaultStore,
          "where plans, registered graphs and clusters and operations are kept: sqlite:PATH, postgresql:CONNECTION as "
          "libpq takes it (passwords by PGPASSFILE), or none. Without XDG_STATE_HOME that is ~/.local/state");
ABSL_FLAG(bool, migrate, false, "bring a store of an older release up to date; servers of that release may go on");
ABSL_FLAG(absl::Duration, retention, absl::Hours(24 * 30),
          "how long stored plans and ended operations are kept, and registered graphs and clusters that nobody uses");
ABSL_FLAG(int64_t, retention_items, planwright::server::Store::Retention{}.items,
          "plans of a tenant that are kept, and as many again of its ended operations; the oldest go first");
ABSL_FLAG(ByteSize, retention_bytes, ByteSize{planwright::server::Store::Retention{}.bytes},
          "what its plans may take, and as much again its ended operations, compressed; the oldest go first");
ABSL_FLAG(int64_t, max_stored_items, planwright::server::Quota{}.documents,
          "plans, graphs and clusters that a tenant may store");
ABSL_FLAG(ByteSize, max_stored_bytes, ByteSize{planwright::server::Quota{}.bytes},
          "what they may take together, compressed");
ABSL_FLAG(ByteSize, max_stored_answer_bytes, ByteSize{planwright::server::Store::Retention{}.answer_bytes},
          "what plans that are kept in the store for whoever asks again may take, of all tenants together, compressed; "
          "the longest unused go first");
ABSL_FLAG(int64_t, max_pending_operations, planwright::server::Quota{}.pending_operations,
          "operations of a tenant that have not ended");
ABSL_FLAG(ByteSize, max_pending_bytes, ByteSize{planwright::server::Quota{}.all_pending_bytes},
          "what the operations of all tenants that have not ended may take, compressed; those of one tenant as much as "
          "--max_stored_bytes");
ABSL_FLAG(ByteSize, store_free_alarm, ByteSize{int64_t{512} << 20},
          "warn (log, /readyz, metrics) when the disk of a SQLite store has less free, and below an eighth of it take "
          "nothing more in; 0: never");
ABSL_FLAG(ByteSize, store_size_alarm, ByteSize{},
          "warn when the store is larger, for PostgreSQL, whose disk cannot be seen from here; 0: never");
ABSL_FLAG(int32_t, max_operations, 1, "operations worked on at the same time, besides requests; 0: by others only");
ABSL_FLAG(absl::Duration, operation_lease, absl::Seconds(30),
          "after how long the operations of a server that has died are taken over; at least 3s");
ABSL_FLAG(bool, enable_reflection, false,
          "serve grpc.reflection.v1alpha, so that tools such as buf curl can call without the protos");
ABSL_FLAG(std::string, log_format, "", "text or json, on standard error; empty: text on a terminal, else json");
ABSL_FLAG(
    std::string, log_level, "info",
    "debug, info, warning or error: what weighs less is not logged; SIGUSR1 logs one level more, SIGUSR2 one less");
ABSL_FLAG(
    std::string, otlp_endpoint, "",
    "where spans of calls are sent, OTLP over HTTP: http://collector:4318/v1/traces; empty: where the environment "
    "variable OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT says, else nowhere");
ABSL_FLAG(
    std::string, audit_log_file, "",
    "where a JSON line is appended for every change (who stored, deleted, cancelled, limited, reloaded what), and "
    "for calls that were refused because of who called; SIGHUP opens it again. Empty: these lines are in the log");
ABSL_FLAG(int32_t, max_tenant_metrics, 100,
          "tenants that metrics tell apart, those of --auth_config first; the others are \"other\"");
ABSL_FLAG(std::string, config, "", "file with settings, one \"name = value\" a line");
ABSL_FLAG(bool, validate_config, false, "check all settings and exit: 0, or 1 with what is wrong");

namespace planwright::server {
namespace {

// The flags above, in their order; --config itself cannot be set by a file.
constexpr std::array kSettings = std::to_array<std::string_view>({"listen_address",
                                                                  "allow_insecure_remote",
                                                                  "tls_cert_file",
                                                                  "tls_key_file",
                                                                  "tls_client_ca_file",
                                                                  "tls_client_crl_file",
                                                                  "certificate_warning",
                                                                  "auth_config",
                                                                  "metrics_address",
                                                                  "serve_pages",
                                                                  "pages_address",
                                                                  "max_connections",
                                                                  "max_connection_age",
                                                                  "keepalive_time",
                                                                  "cpus",
                                                                  "memory_budget",
                                                                  "max_running",
                                                                  "max_waiting",
                                                                  "default_time_limit",
                                                                  "max_time_limit",
                                                                  "drain_timeout",
                                                                  "send_timeout",
                                                                  "slow_search",
                                                                  "max_message_bytes",
                                                                  "max_operators",
                                                                  "max_tensors",
                                                                  "max_devices",
                                                                  "max_batch_size",
                                                                  "cache_bytes",
                                                                  "max_name_bytes",
                                                                  "store",
                                                                  "migrate",
                                                                  "retention",
                                                                  "retention_items",
                                                                  "retention_bytes",
                                                                  "max_stored_items",
                                                                  "max_stored_bytes",
                                                                  "max_stored_answer_bytes",
                                                                  "max_pending_operations",
                                                                  "max_pending_bytes",
                                                                  "store_free_alarm",
                                                                  "store_size_alarm",
                                                                  "max_operations",
                                                                  "operation_lease",
                                                                  "enable_reflection",
                                                                  "log_format",
                                                                  "audit_log_file",
                                                                  "max_tenant_metrics",
                                                                  "log_level",
                                                                  "otlp_endpoint",
                                                                  "validate_config"});

// Flags that there are not, which Abseil would end the program for without a hint. Flags of Abseil's own are its
// business.
absl::Status CheckFlagNames(std::span<char*> arguments) {
  std::vector<std::string_view> names(kSettings.begin(), kSettings.end());
  names.emplace_back("config");
  for (std::string_view argument : arguments.subspan(1)) {
    if (argument == "--") return absl::OkStatus();
    if (!argument.starts_with('-')) continue;
    argument.remove_prefix(argument.starts_with("--") ? 2 : 1);
    const std::string_view name = argument.substr(0, argument.find('='));
    // The value of the flag before, such as -1.
    if (name.empty() || !absl::ascii_isalpha(static_cast<unsigned char>(name.front()))) continue;
    const std::string_view positive = name.starts_with("no") ? name.substr(2) : name;
    if (absl::FindCommandLineFlag(ToAbsl(name)) != nullptr || absl::FindCommandLineFlag(ToAbsl(positive)) != nullptr) {
      continue;
    }
    const auto likely = LikelyName(name, names);
    const std::string meant = likely.has_value() ? absl::StrCat("; did you mean --", ToAbsl(names[*likely]), "?") : "";
    return absl::InvalidArgumentError(absl::StrCat("unknown flag --", ToAbsl(name), meant, " (see --help)"));
  }
  return absl::OkStatus();
}

// `text` in lines of at most `width` characters, each after `indent`.
std::string Wrapped(std::string_view text, std::string_view indent, std::size_t width) {
  std::string wrapped;
  std::size_t column = width;
  for (const absl::string_view word : absl::StrSplit(ToAbsl(text), ' ')) {
    const bool breaks = column + 1 + word.size() > width;
    absl::StrAppend(&wrapped, breaks ? "\n" : " ", breaks ? ToAbsl(indent) : "", word);
    column = (breaks ? 0 : column + 1) + word.size();
  }
  return wrapped;
}

// A flag's number, with a violation where it is below `least`.
template <typename Number>
Number AtLeast(Number value, Number least, std::string_view flag, Violations& violations) {
  if (value < least) {
    violations.Add(absl::StrCat("--", ToAbsl(flag)), absl::StrCat("must be >= ", least, ", is ", value));
  }
  return std::max(value, least);
}

// A flag's number as from AtLeast, with a violation above `most` as well.
template <typename Number>
Number Between(Number value, Number least, Number most, std::string_view flag, Violations& violations) {
  if (value > most) {
    violations.Add(absl::StrCat("--", ToAbsl(flag)), absl::StrCat("must be <= ", most, ", is ", value));
  }
  return std::min(AtLeast(value, least, flag, violations), most);
}

// A flag's time. No more than a year, so that it can be added to any moment of a clock.
std::chrono::nanoseconds PositiveTime(absl::Duration value, std::string_view flag, Violations& violations) {
  constexpr absl::Duration kMost = absl::Hours(24 * 365);
  if (value <= absl::ZeroDuration() || value > kMost) {
    violations.Add(absl::StrCat("--", ToAbsl(flag)), absl::StrCat("must be > 0 and <= ", absl::FormatDuration(kMost),
                                                                  ", is ", absl::FormatDuration(value)));
  }
  return absl::ToChronoNanoseconds(value);
}

LogFormat ReadLogFormat(Violations& violations) {
  const std::string format = absl::GetFlag(FLAGS_log_format);
  if (format == "text") return LogFormat::kText;
  if (format == "json") return LogFormat::kJson;
  if (!format.empty()) violations.Add("--log_format", absl::StrCat("must be text or json, is \"", format, "\""));
  return isatty(STDERR_FILENO) == 1 ? LogFormat::kText : LogFormat::kJson;
}

// As the specification of OpenTelemetry has it: the general variable names a base, to which the path is added.
std::string OtlpEndpoint() {
  std::string stated = absl::GetFlag(FLAGS_otlp_endpoint);
  if (stated.empty()) stated = Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").value_or("");
  const std::string base = Getenv("OTEL_EXPORTER_OTLP_ENDPOINT").value_or("");
  if (!stated.empty() || base.empty()) return stated;
  return absl::StrCat(base, base.ends_with('/') ? "" : "/", "v1/traces");
}

std::string ReadOtlpEndpoint(Violations& violations) {
  std::string endpoint = OtlpEndpoint();
  const absl::Status checked = endpoint.empty() ? absl::OkStatus() : CheckOtlpEndpoint(endpoint);
  if (!checked.ok()) violations.Add("--otlp_endpoint", std::string(checked.message()));
  return endpoint;
}

Severity ReadLogLevel(Violations& violations) {
  const std::string name = absl::GetFlag(FLAGS_log_level);
  const std::optional<Severity> level = LevelNamed(name);
  if (!level.has_value()) {
    violations.Add("--log_level", absl::StrCat("must be debug, info, warning or error, is \"", name, "\""));
  }
  return level.value_or(Severity::kInfo);
}

std::string ReadListenAddress(bool has_tls, Violations& violations) {
  std::string address = absl::GetFlag(FLAGS_listen_address);
  if (!IsListenAddress(address)) {
    violations.Add("--listen_address", absl::StrCat("must be HOST:PORT, is \"", address, "\""));
  } else if (!IsLoopback(address) && !has_tls && !absl::GetFlag(FLAGS_allow_insecure_remote)) {
    violations.Add("--listen_address",
                   absl::StrCat("\"", address,
                                "\" can be reached from other machines, and nothing is encrypted: use a loopback "
                                "address, --tls_cert_file and --tls_key_file, or --allow_insecure_remote"));
  }
  return address;
}

SecretFiles ReadSecretFiles() {
  return {.tls = {.certificate_chain = absl::GetFlag(FLAGS_tls_cert_file),
                  .private_key = absl::GetFlag(FLAGS_tls_key_file),
                  .client_ca = absl::GetFlag(FLAGS_tls_client_ca_file),
                  .client_crl = absl::GetFlag(FLAGS_tls_client_crl_file)},
          .auth_config = absl::GetFlag(FLAGS_auth_config)};
}

std::string ReadMetricsAddress(Violations& violations) {
  std::string address = absl::GetFlag(FLAGS_metrics_address);
  if (!address.empty() && !IsListenAddress(address)) {
    violations.Add("--metrics_address", absl::StrCat("must be HOST:PORT or empty, is \"", address, "\""));
  }
  return address;
}

// A browser shows no token, so where callers are asked who they are it has to show a certificate.
void CheckPages(const std::string& address, const SecretFiles& secrets, Violations& violations) {
  const absl::Status built = CheckPagesAreBuilt();
  if (!built.ok()) violations.Add("--serve_pages", std::string(built.message()));
  if (absl::GetFlag(FLAGS_store) == "none") {
    violations.Add("--serve_pages", "needs a --store, which has the plans");
  }
  if (!IsListenAddress(address)) {
    violations.Add("--pages_address", absl::StrCat("must be HOST:PORT, is \"", address, "\""));
  } else if (!IsLoopback(address) && secrets.tls.client_ca.empty()) {
    violations.Add("--pages_address", absl::StrCat("\"", address,
                                                   "\" can be reached from other machines: use a loopback address, or "
                                                   "--tls_client_ca_file, so that browsers show a certificate"));
  } else if (!secrets.auth_config.empty() && secrets.tls.client_ca.empty()) {
    violations.Add(
        "--serve_pages",
        "with --auth_config needs --tls_client_ca_file: a browser sends no token, but can show a certificate");
  }
}

// Empty: no pages are wanted.
std::string ReadPagesAddress(const SecretFiles& secrets, Violations& violations) {
  if (!absl::GetFlag(FLAGS_serve_pages)) return "";
  std::string address = absl::GetFlag(FLAGS_pages_address);
  CheckPages(address, secrets, violations);
  return address;
}

// Port 0 is another one each time.
void CheckDiffers(const std::string& address, std::string_view flag, const std::string& other,
                  std::string_view other_flag, Violations& violations) {
  if (address.empty() || address != other || address.ends_with(":0")) return;
  violations.Add(std::string(flag),
                 absl::StrCat("must differ from ", ToAbsl(other_flag), ", is \"", address, "\" too"));
}

void CheckAddressesDiffer(const Configuration& configuration, Violations& violations) {
  CheckDiffers(configuration.metrics_address, "--metrics_address", configuration.listen_address, "--listen_address",
               violations);
  CheckDiffers(configuration.pages_address, "--pages_address", configuration.listen_address, "--listen_address",
               violations);
  CheckDiffers(configuration.pages_address, "--pages_address", configuration.metrics_address, "--metrics_address",
               violations);
}

std::string ReadStore(Violations& violations) {
  std::string store = absl::GetFlag(FLAGS_store);
  const absl::Status status = CheckStoreSetting(store);
  if (!status.ok()) violations.Add("--store", std::string(status.message()));
  return store;
}

ModelLimits ReadModelLimits(Violations& violations) {
  ModelLimits limits;
  limits.max_operators = AtLeast<int64_t>(absl::GetFlag(FLAGS_max_operators), 1, "max_operators", violations);
  limits.max_tensors = AtLeast<int64_t>(absl::GetFlag(FLAGS_max_tensors), 1, "max_tensors", violations);
  limits.max_devices = AtLeast<int64_t>(absl::GetFlag(FLAGS_max_devices), 1, "max_devices", violations);
  limits.max_name_bytes = AtLeast<int64_t>(absl::GetFlag(FLAGS_max_name_bytes), 1, "max_name_bytes", violations);
  return limits;
}

Quota ReadQuota(Violations& violations) {
  Quota quota;
  quota.documents = AtLeast<int64_t>(absl::GetFlag(FLAGS_max_stored_items), 0, "max_stored_items", violations);
  quota.bytes = absl::GetFlag(FLAGS_max_stored_bytes).bytes;
  quota.pending_operations =
      AtLeast<int64_t>(absl::GetFlag(FLAGS_max_pending_operations), 0, "max_pending_operations", violations);
  quota.all_pending_bytes = absl::GetFlag(FLAGS_max_pending_bytes).bytes;
  return quota;
}

Store::Retention ReadRetention(Violations& violations) {
  Store::Retention retention;
  retention.documents = std::chrono::duration_cast<std::chrono::milliseconds>(
      PositiveTime(absl::GetFlag(FLAGS_retention), "retention", violations));
  retention.operations = retention.documents;
  retention.items = AtLeast<int64_t>(absl::GetFlag(FLAGS_retention_items), 1, "retention_items", violations);
  retention.bytes = AtLeast<int64_t>(absl::GetFlag(FLAGS_retention_bytes).bytes, 1, "retention_bytes", violations);
  retention.answer_bytes = absl::GetFlag(FLAGS_max_stored_answer_bytes).bytes;
  return retention;
}

std::chrono::milliseconds ReadOperationLease(Violations& violations) {
  constexpr std::chrono::seconds kLeast{3};
  const absl::Duration lease = absl::GetFlag(FLAGS_operation_lease);
  const std::chrono::nanoseconds time = PositiveTime(lease, "operation_lease", violations);
  if (lease > absl::ZeroDuration() && time < kLeast)
    violations.Add("--operation_lease", "must be >= 3s: it is renewed every second");
  return std::chrono::duration_cast<std::chrono::milliseconds>(time);
}

EngineConfig ReadEngineConfig(Violations& violations) {
  constexpr int32_t kMostThreads = 4096;
  constexpr int32_t kMostWaiting = 1'000'000;
  EngineConfig config;
  config.version = PLANWRIGHT_VERSION;
  config.model_limits = ReadModelLimits(violations);
  config.time_limits.default_time_limit =
      PositiveTime(absl::GetFlag(FLAGS_default_time_limit), "default_time_limit", violations);
  config.time_limits.max_time_limit = PositiveTime(absl::GetFlag(FLAGS_max_time_limit), "max_time_limit", violations);
  // Whoever only lowers the greatest limit lowers the default with it.
  if (absl::GetFlag(FLAGS_default_time_limit) == kUnsetDefaultTimeLimit) {
    config.time_limits.default_time_limit =
        std::min(config.time_limits.default_time_limit, config.time_limits.max_time_limit);
  }
  if (config.time_limits.max_time_limit < config.time_limits.default_time_limit) {
    violations.Add("--max_time_limit", absl::StrCat("must be >= --default_time_limit, which is ",
                                                    absl::FormatDuration(absl::GetFlag(FLAGS_default_time_limit))));
  }
  config.cpus = Between(absl::GetFlag(FLAGS_cpus), 0, kMostThreads, "cpus", violations);
  if (config.cpus == 0) config.cpus = AvailableCpus();
  config.memory_budget_bytes = absl::GetFlag(FLAGS_memory_budget).bytes;
  if (config.memory_budget_bytes == 0) config.memory_budget_bytes = DefaultMemoryBudget();
  config.max_running = Between(absl::GetFlag(FLAGS_max_running), 0, kMostThreads, "max_running", violations);
  if (config.max_running == 0) config.max_running = std::max(2, config.cpus / 2);
  config.spare_running = 1;
  config.max_waiting = Between(absl::GetFlag(FLAGS_max_waiting), 0, kMostWaiting, "max_waiting", violations);
  config.max_batch_size = AtLeast<int64_t>(absl::GetFlag(FLAGS_max_batch_size), 1, "max_batch_size", violations);
  // One half for plans, one for their encoded answers.
  config.cache_bytes =
      std::min(absl::GetFlag(FLAGS_cache_bytes).bytes, MemoryShares(config.memory_budget_bytes).caching) / 2;
  config.max_operations = Between(absl::GetFlag(FLAGS_max_operations), 0, kMostThreads, "max_operations", violations);
  config.quota = ReadQuota(violations);
  config.retention = ReadRetention(violations);
  config.max_message_bytes = Between<int64_t>(absl::GetFlag(FLAGS_max_message_bytes).bytes, 1024,
                                              std::numeric_limits<int32_t>::max(), "max_message_bytes", violations);
  return config;
}

ConnectionSettings ReadConnectionSettings(Violations& violations) {
  constexpr int32_t kMostConnections = 1'000'000;
  ConnectionSettings settings;
  settings.max_connections =
      Between(absl::GetFlag(FLAGS_max_connections), 0, kMostConnections, "max_connections", violations);
  settings.max_age = PositiveTime(absl::GetFlag(FLAGS_max_connection_age), "max_connection_age", violations);
  settings.keepalive_time = PositiveTime(absl::GetFlag(FLAGS_keepalive_time), "keepalive_time", violations);
  return settings;
}

absl::StatusOr<Configuration> ReadConfiguration() {
  Violations violations;
  Configuration configuration;
  configuration.secret_files = ReadSecretFiles();
  configuration.listen_address = ReadListenAddress(!configuration.secret_files.tls.empty(), violations);
  configuration.metrics_address = ReadMetricsAddress(violations);
  configuration.pages_address = ReadPagesAddress(configuration.secret_files, violations);
  CheckAddressesDiffer(configuration, violations);
  configuration.connections = ReadConnectionSettings(violations);
  configuration.engine = ReadEngineConfig(violations);
  configuration.store = ReadStore(violations);
  configuration.store_alarm = {.free_bytes = absl::GetFlag(FLAGS_store_free_alarm).bytes,
                               .store_bytes = absl::GetFlag(FLAGS_store_size_alarm).bytes};
  configuration.migrate = absl::GetFlag(FLAGS_migrate);
  configuration.operation_lease = ReadOperationLease(violations);
  configuration.drain_timeout = PositiveTime(absl::GetFlag(FLAGS_drain_timeout), "drain_timeout", violations);
  configuration.send_timeout = PositiveTime(absl::GetFlag(FLAGS_send_timeout), "send_timeout", violations);
  configuration.slow_search = PositiveTime(absl::GetFlag(FLAGS_slow_search), "slow_search", violations);
  configuration.log_format = ReadLogFormat(violations);
  configuration.log_level = ReadLogLevel(violations);
  configuration.otlp_endpoint = ReadOtlpEndpoint(violations);
  configuration.certificate_warning =
      PositiveTime(absl::GetFlag(FLAGS_certificate_warning), "certificate_warning", violations);
  configuration.enable_reflection = absl::GetFlag(FLAGS_enable_reflection);
  configuration.audit_log_file = absl::GetFlag(FLAGS_audit_log_file);
  configuration.max_tenant_metrics =
      Between(absl::GetFlag(FLAGS_max_tenant_metrics), 0, 10'000, "max_tenant_metrics", violations);
  RETURN_IF_ERROR(violations.ToStatus());
  RETURN_IF_ERROR(ReadSecrets(configuration.secret_files).status());
  return configuration;
}

// Takes settings from the file, the environment and the command line, the latter over the former.
absl::Status SetFlags(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  RETURN_IF_ERROR(CheckFlagNames(arguments));
  RETURN_IF_ERROR(CheckFlagFiles(arguments));
  RETURN_IF_ERROR(ApplyFileAndEnvironment(arguments, kSettings));
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  if (rest.size() <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("unexpected argument \"", rest[1], "\" (see --help)"));
}

}  // namespace

absl::StatusOr<Configuration> ReadConfigurationAgain(int argc, char** argv) {
  for (const std::string_view name : kSettings) {
    absl::CommandLineFlag* flag = absl::FindCommandLineFlag(ToAbsl(name));
    std::string error;
    // A default is a value that the flag can take.
    static_cast<void>(flag->ParseFrom(flag->DefaultValue(), &error));
  }
  RETURN_IF_ERROR(SetFlags(argc, argv));
  return ReadConfiguration();
}

absl::StatusOr<Invocation> ReadInvocation(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  Invocation invocation;
  if (HasArgument(arguments, {"--help", "-help", "-h"}))
    return Invocation{.action = Action::kHelp, .configuration = {}};
  if (HasArgument(arguments, {"--version", "-version"})) {
    return Invocation{.action = Action::kVersion, .configuration = {}};
  }
  RETURN_IF_ERROR(SetFlags(argc, argv));
  invocation.action = absl::GetFlag(FLAGS_validate_config) ? Action::kValidate : Action::kServe;
  ASSIGN_OR_RETURN(invocation.configuration, ReadConfiguration());
  return invocation;
}

std::string HelpText() {
  std::string text =
      "planwrightd serves planwright.v1.PlanningService: it plans which operators of a DNN run on which devices.\n\n"
      "  planwrightd                                    serve this machine on 127.0.0.1:50051\n"
      "  planwrightd --listen_address=127.0.0.1:0       take a free port; the log says which\n"
      "  planwrightd --config=FILE --validate_config    check a configuration\n"
      "  planwrightd store --help                       check, back up and restore what it keeps\n"
      "  planwright server-info --server=127.0.0.1:50051    ask it from another terminal\n\n"
      "SIGTERM and SIGINT drain: new requests are refused, running ones are answered, then it exits with 0.\n"
      "SIGHUP reads certificates, tokens, the limits of tenants and, from --config, those of graphs and clusters "
      "again; what\n"
      "is wrong changes nothing. SIGUSR1 logs one level more, SIGUSR2 one less.\n\n"
      "Settings, each also as an environment variable (PLANWRIGHT_CPUS) and as a line \"cpus = 4\" of the --config\n"
      "file; a flag wins over the environment, the environment over the file:\n";
  std::vector<std::string_view> names(kSettings.begin(), kSettings.end());
  names.emplace_back("config");
  for (const std::string_view name : names) {
    const absl::CommandLineFlag* flag = absl::FindCommandLineFlag(ToAbsl(name));
    absl::StrAppend(&text, "\n  --", ToAbsl(name), " (", flag->DefaultValue(), ")",
                    Wrapped(ToStd(flag->Help()), "      ", 100), "\n");
  }
  return text;
}

std::string VersionText() {
  const std::string commit = PLANWRIGHT_COMMIT;
  return absl::StrCat("planwrightd " PLANWRIGHT_VERSION, commit.empty() ? "" : absl::StrCat(" (", commit, ")"), "\n");
}

}  // namespace planwright::server
