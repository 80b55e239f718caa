#include "server/main/daemon.h"

#include <google/protobuf/generated_message_reflection.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "grpc/health/v1/health.pb.h"
#include "server/connections/connections.h"
#include "server/connections/gate.h"
#include "server/connections/listener.h"
#include "server/connections/own_call.h"
#include "server/engine/memory_shares.h"
#include "server/engine/operations/operation_work.h"
#include "server/engine/operations/operations.h"
#include "server/main/configuration/connection_settings.h"
#include "server/main/configuration/secrets.h"
#include "server/main/liveness.h"
#include "server/main/page_port.h"
#include "server/main/spare_pollers.h"
#include "server/main/store_upkeep.h"
#include "server/main/tls/certificate_watch.h"
#include "server/main/tls/reloading_tls.h"
#include "server/observability/audit_log.h"
#include "server/observability/http_server.h"
#include "server/observability/metrics.h"
#include "server/service/admin_service.h"
#include "server/service/planning_service.h"
#include "server/service/record/search_log.h"
#include "server/service/record/status_conversion.h"
#include "server/serving/admission/executor.h"
#include "server/serving/admission/memory_account.h"
#include "server/serving/admission/unanswered_calls.h"
#include "server/serving/admission/unsent_answers.h"
#include "server/serving/admission/uploads.h"
#include "server/serving/callers/authenticator.h"
#include "server/serving/callers/call_registry.h"
#include "server/serving/operations/claim_keeper.h"
#include "server/serving/operations/operation_runner.h"
#include "server/serving/tenants/stored_usage.h"
#include "server/serving/tenants/tenant_overrides.h"
#include "server/store/open_store.h"

namespace planwright::server {
namespace {

// Streams of one connection; more wait in the client.
constexpr int kMaxConcurrentStreams = 1000;
// Clients may ping this often without being told to go away.
constexpr int kMinPingIntervalMs = 10'000;
// How long searches that were told to stop may take to answer, before their connections are closed. They obey within
// 50 ms; encoding a large plan takes longer.
constexpr std::chrono::seconds kStopGrace{10};

// What computes yields to the threads that read requests and hand out answers, so that those are quick on a busy
// machine: searches a little, since a flood keeps those threads busy as well, but not those for whoever wants no other
// answer at the time; what reads and writes the store more; requests that take long to read, and answers that are
// large, to everything: they are of others, more often than not.
constexpr int kSearchNiceness = 2;
constexpr int kLookupNiceness = 10;
constexpr int kPatientNiceness = 19;
constexpr int kMostLongReads = 2;
// About what an operator takes while its graph is read, with its tensors.
constexpr int64_t kBytesPerOperator = 512;
// Threads that read requests and answer what needs no search; more where there are more CPUs.
constexpr int kMinServingThreads = 2;
// Beside those that read and those that wait for the store: for a tenant that comes while others keep all of them busy.
// Searches have as many (EngineConfig::spare_running).
constexpr int kSpareThreads = 1;
// Requests that may wait to be read, which takes milliseconds.
constexpr int kMaxUnread = 1000;

// Graphs that may be on their way in fragments at the same time.
constexpr int kMaxUploads = 100;

// gRPC's reflection library adds its service to every server of a process that links it; this takes it out again.
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) { return plugin->name() == "proto_server_reflection"; });
  }
};

// Threads that wait for the store, not for processors.
constexpr int kLookupThreads = 8;
// Threads for requests or answers that are large, whose making takes several times as much.
constexpr int kRetrievalThreads = 2;
// Threads for the rows of the plan cache alone.
constexpr int kStoringThreads = 4;

// UNAVAILABLE, with what can be done about it.
absl::StatusOr<std::unique_ptr<Listener>> Listen(std::string_view address, std::string_view flag) {
  auto listener = Listener::Open(address);
  if (listener.ok()) return listener;
  return absl::Status(listener.status().code(),
                      absl::StrCat(listener.status().message(), "; choose another with ", ToAbsl(flag)));
}

// For how long a pool may stand still beyond its longest job, and new clients may not get through.
constexpr std::chrono::seconds kStalledPatience{30};
constexpr std::chrono::seconds kListenerPatience{10};
constexpr std::chrono::seconds kOwnCallTimeout{5};
// A job that takes longer holds others up.
constexpr std::chrono::seconds kLongestJob{30};

absl::Status CheckGoesOn(const Executor& executor) {
  const std::chrono::nanoseconds stalled = executor.stalled_for();
  if (stalled <= kLongestJob) return absl::OkStatus();
  return absl::UnavailableError("no job has ended, and others wait");
}

ConnectionCounts CountsOf(const Connections::Counts& counts) {
  ConnectionCounts result{.open = counts.open, .accepted = counts.accepted, .refused = counts.refused, .ended = {}};
  for (int i = 0; i < kEndReasons; ++i) {
    result.ended[NameOf(static_cast<EndReason>(i))] = counts.ended[static_cast<std::size_t>(i)];
  }
  return result;
}

class GrpcDaemon final : public Daemon {
 public:
  // `store`: nullptr, nothing is kept.
  GrpcDaemon(const Configuration& configuration, std::unique_ptr<Store> store, const Logger& log)
      : configuration_(configuration),
        log_(log),
        metrics_(configuration.engine.version, static_cast<std::size_t>(configuration.max_tenant_metrics)),
        audit_(log),
        store_(std::move(store)),
        engine_(configuration.engine, store_.get()),
        spans_(configuration.otlp_endpoint.empty()
                   ? nullptr
                   : std::make_unique<SpanExporter>(SpanExporter::Options{.endpoint = configuration.otlp_endpoint,
                                                                          .version = configuration.engine.version})),
        certificates_(configuration.certificate_warning, metrics_, log_),
        claims_(store_ != nullptr ? std::make_unique<ClaimKeeper>(*store_) : nullptr),
        shares_(configuration.engine.memory_budget_bytes),
        finder_({engine_, executor_, serving_, storing_, claims_.get()}, shares_.sharing),
        answers_(configuration.engine.cache_bytes),
        uploads_(kMaxUploads, shares_.uploading),
        unpacked_({.max_bytes = shares_.unpacking,
                   .max_hold = configuration.engine.memory_budget_bytes / 2,
                   .holders = "requests that are read"}),
        batches_({.max_bytes = shares_.batching,
                  .max_hold = configuration.engine.memory_budget_bytes / 2,
                  .holders = "batches"}),
        unsent_({.max_bytes = shares_.answering, .send_timeout = configuration.send_timeout}),
        storing_({.max_running = kStoringThreads,
                  .spare = kSpareThreads,
                  .max_waiting = kMaxUnread,
                  .max_bytes = shares_.storing}),
        // A message as large as any, whose bytes gRPC counts as well, leaves the share to the others.
        serving_({.max_running = std::max(kMinServingThreads, configuration.engine.cpus),
                  .spare = kSpareThreads,
                  .max_waiting = kMaxUnread,
                  .max_bytes = shares_.reading + configuration.engine.max_message_bytes}),
        long_reads_({.nice = kPatientNiceness,
                     .max_running = LongReadThreads(configuration.engine),
                     .spare = LongReadThreads(configuration.engine) < kMostLongReads ? 0 : kSpareThreads,
                     .max_waiting = kMaxUnread,
                     .max_bytes = shares_.reading + configuration.engine.max_message_bytes}),
        executor_({.backlog_nice = kSearchNiceness,
                   .max_running = configuration.engine.max_running,
                   .spare = configuration.engine.spare_running,
                   .max_waiting = configuration.engine.max_waiting,
                   .max_bytes = shares_.searching,
                   .max_running_bytes = TablesOfCalls()}),
        operating_({.nice = kSearchNiceness, .max_running = std::max(configuration.engine.max_operations, 1)}),
        lookups_({.nice = kLookupNiceness,
                  .max_running = kLookupThreads,
                  .spare = kSpareThreads,
                  .max_waiting = kMaxUnread,
                  .max_bytes = shares_.looking_up + configuration.engine.max_message_bytes}),
        retrievals_({.nice = kPatientNiceness,
                     .max_running = kRetrievalThreads,
                     .max_waiting = kMaxUnread,
                     .max_bytes = shares_.looking_up + configuration.engine.max_message_bytes}),
        operations_(engine_, store_.get(), [this] { WakeRunner(); }),
        connections_(GrpcConnectionLimits(configuration.connections, TransportBytes(configuration.engine),
                                          configuration.engine.max_message_bytes)),
        service_(Services()),
        admin_(Services(), service_) {}

  ~GrpcDaemon() override { Drain(); }

  absl::Status Start(std::span<grpc::Service* const> others) {
    ASSIGN_OR_RETURN(Secrets secrets, ReadSecrets(configuration_.secret_files));
    RETURN_IF_ERROR(OpenAuditLog());
    Accept(secrets);
    RETURN_IF_ERROR(StartPages(secrets));
    if (secrets.tls.has_value()) tls_ = std::make_shared<ReloadingTlsCredentials>(*std::move(secrets.tls));
    if (store_ != nullptr) usage_.Start(*store_);
    if (store_ != nullptr) {
      upkeep_ = std::make_unique<StoreUpkeep>(*store_, configuration_.engine.retention, metrics_, log_);
    }
    ASSIGN_OR_RETURN(auto listener, Listen(configuration_.listen_address, "--listen_address"));
    // Before those whose threads look at it.
    if (store_ != nullptr && configuration_.engine.max_operations > 0) StartRunner(TenantsOf(secrets));
    RETURN_IF_ERROR(StartHttp());
    return StartGrpc(std::move(listener), others);
  }

  void Reload(const absl::StatusOr<Configuration>& configuration) override {
    absl::StatusOr<Secrets> secrets =
        configuration.ok() ? ReadSecrets(configuration_.secret_files) : absl::StatusOr<Secrets>(configuration.status());
    metrics_.Reloaded(secrets.ok());
    AuditReload(secrets.status());
    if (!secrets.ok()) {
      log_.Error("reload failed, nothing has changed", {{"error", std::string(secrets.status().message())}});
      return;
    }
    Accept(*secrets);
    engine_.SetModelLimits(configuration->engine.model_limits);
    service_.Refresh();
    // Pages wait for those that are being made.
    if (const std::optional<TlsIdentity>& tls = secrets->tls; tls.has_value()) {
      if (tls_ != nullptr) tls_->Replace(*tls);
      if (pages_ != nullptr) pages_->SetTls(*tls);
    }
    log_.Info("reloaded");
  }

  void Drain() override {
    if (server_ == nullptr || draining_.exchange(true)) return;
    log_.Info("draining", {{"running", int64_t{executor_.load().running}},
                           {"waiting", int64_t{executor_.load().waiting}},
                           {"drain_timeout_ms", ToMillisecondCount(configuration_.drain_timeout)}});
    metrics_.SetDraining(true);
    SetServing(false);
    if (pages_ != nullptr) pages_->Stop();
    serving_.StopAdmission();
    long_reads_.StopAdmission();
    storing_.StopAdmission();
    executor_.StopAdmission();
    lookups_.StopAdmission();
    retrievals_.StopAdmission();
    // Others, or we ourselves when we are back, go on with the operations from where they are.
    if (runner_ != nullptr) runner_->Stop();
    if (!in_flight_.WaitUntilNone(configuration_.drain_timeout)) {
      log_.Warning("drain timeout: stopping searches", {{"running", int64_t{executor_.load().running}}});
      // serving_ and long_reads_ go on: they answer for what is stopped.
      storing_.StopAll();
      executor_.StopAll();
      lookups_.StopAll();
      retrievals_.StopAll();
      in_flight_.WaitUntilNone(kStopGrace);
    }
    liveness_.Stop();
    gate_.reset();
    // Everything of ours is answered: what is left are idle connections and health watchers, which need no grace.
    server_->Shutdown(std::chrono::system_clock::now());
    pollers_.Stop();
    log_.Info("drained");
  }

 private:
  static double ToMillisecondCount(std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time).count();
  }

  CallServices Services() {
    return {.engine = engine_,
            .finder = finder_,
            .answers = answers_,
            .operations = operations_,
            .executor = executor_,
            .serving = serving_,
            .long_reads = long_reads_,
            .lookups = lookups_,
            .retrievals = retrievals_,
            .uploads = uploads_,
            .unpacked = unpacked_,
            .batches = batches_,
            .unsent = unsent_,
            .authenticator = authenticator_,
            .in_flight = in_flight_,
            .connections = connections_,
            .metrics = metrics_,
            .calls = calls_,
            .tenants = tenants_,
            .usage = usage_,
            .audit = audit_,
            .log = log_,
            .slow_search = configuration_.slow_search,
            .spans = spans_.get()};
  }

  static TenantTable TenantsOf(const Secrets& secrets) {
    return secrets.auth != nullptr ? secrets.auth->tenants : TenantTable();
  }

  // So many that graphs as large as any take a quarter of the memory together. Fewer than the most: there is no room
  // for that of a spare thread either.
  static int LongReadThreads(const EngineConfig& engine) {
    const int64_t most = engine.memory_budget_bytes / 4 / kBytesPerOperator / engine.model_limits.max_operators;
    return static_cast<int>(std::clamp<int64_t>(most, 1, kMostLongReads));
  }

  // Operations have threads, and room for their tables, of their own.
  int64_t TablesOfCalls() const {
    const EngineConfig& engine = configuration_.engine;
    const int64_t searches = PlanningEngine::LargeSearches(engine);
    return shares_.tables / (searches + engine.max_operations) * searches;
  }

  // Who may call, and what of the server they may have.
  void Accept(const Secrets& secrets) {
    authenticator_.Replace(
        {.config = secrets.auth, .revocations = secrets.tls.has_value() ? secrets.tls->revocations : nullptr});
    if (secrets.tls.has_value()) certificates_.Watch(secrets.tls->expiries);
    metrics_.tenants().Reserve(authenticator_.Tenants());
    tenants_.Configure(TenantsOf(secrets));
  }

  // Has the limits of tenants take effect.
  void Limit(const TenantTable& tenants) {
    executor_.SetTenants(tenants);
    for (Executor* queue : {&serving_, &long_reads_, &lookups_, &retrievals_, &storing_})
      queue->SetTenants(tenants.Weights());
    uploads_.SetTenants(tenants.Weights());
    if (pages_ != nullptr) pages_->SetTenants(tenants.Weights());
    if (runner_ != nullptr) runner_->SetTenants(tenants);
  }

  absl::Status OpenAuditLog() {
    if (configuration_.audit_log_file.empty()) return absl::OkStatus();
    const absl::Status opened = audit_.Open(configuration_.audit_log_file);
    if (opened.ok()) return opened;
    return {opened.code(), absl::StrCat("--audit_log_file: ", opened.message())};
  }

  // Who has sent SIGHUP is not known: whoever may.
  void AuditReload(const absl::Status& status) {
    const absl::Status opened = OpenAuditLog();
    if (!opened.ok()) log_.Error("the audit log goes on in the old file", {{"error", std::string(opened.message())}});
    AuditEntry entry;
    entry.action = "reload";
    entry.resource = "configuration";
    entry.outcome = CodeLabel(status.code());
    entry.caller = "SIGHUP";
    entry.details = std::string(status.message());
    audit_.Changed(entry);
  }

  // REQUIRES: there is a store (CheckPages of the configuration).
  absl::Status StartPages(const Secrets& secrets) {
    if (configuration_.pages_address.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(auto listener, Listen(configuration_.pages_address, "--pages_address"));
    ASSIGN_OR_RETURN(
        pages_,
        PagePort::Start(
            {.engine = engine_, .store = *store_, .authenticator = authenticator_, .audit = audit_, .log = log_},
            std::move(listener), secrets.tls));
    pages_->SetTenants(TenantsOf(secrets).Weights());
    return absl::OkStatus();
  }

  absl::Status StartHttp() {
    if (configuration_.metrics_address.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(auto listener, Listen(configuration_.metrics_address, "--metrics_address"));
    ASSIGN_OR_RETURN(http_, HttpServer::Start({{"/metrics", {[this] { return ServeMetrics(); }, false}},
                                               {"/livez", {[this] { return ServeLiveness(); }}},
                                               {"/readyz", {[this] { return ServeReadiness(); }}}}));
    http_gate_ = std::make_unique<Gate>(
        std::move(listener), http_connections_,
        [this](int file, const SocketAddress& peer) { http_->Serve(file, peer.get(), peer.length); });
    log_.Info("serving http", {{"address", http_gate_->listener().address()}});
    return absl::OkStatus();
  }

  // What gRPC's own buffers may take, the bytes of requests on their way in among them. At least one message in and one
  // out, so that each can be served alone.
  static int64_t TransportBytes(const EngineConfig& engine) {
    return std::max(MemoryShares(engine.memory_budget_bytes).transport, 2 * engine.max_message_bytes);
  }

  // Beyond its quota gRPC ends calls of anybody. It is the last resort, where connections of a kind whose bytes the
  // kernel does not count take too much; before that those end that hold most (connections.h).
  std::size_t QuotaBytes() const {
    constexpr int64_t kBeyond = 4;
    const bool is_unix = configuration_.listen_address.starts_with("unix");
    return static_cast<std::size_t>((is_unix ? 1 : kBeyond) * TransportBytes(configuration_.engine));
  }

  absl::Status StartGrpc(std::unique_ptr<Listener> listener, std::span<grpc::Service* const> others) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, ServerCredentials());
    builder.RegisterService(&service_);
    builder.RegisterService(&admin_);
    for (grpc::Service* other : others) builder.RegisterService(other);
    builder.SetMaxReceiveMessageSize(static_cast<int>(configuration_.engine.max_message_bytes));
    builder.SetMaxSendMessageSize(-1);
    builder.SetResourceQuota(grpc::ResourceQuota("planwrightd").Resize(QuotaBytes()));
    LimitConnections(configuration_.connections, 2 * configuration_.engine.time_limits.max_time_limit, builder);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxConcurrentStreams);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingIntervalMs);
    RefuseCompression(builder);
    PrepareReflection(builder);
    pollers_.AddTo(builder);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::UnavailableError("gRPC does not start; the log says why");
    pollers_.Start();
    gate_ = std::make_unique<Gate>(std::move(listener), connections_, [this](int file, const SocketAddress& /*peer*/) {
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
      connection.fd = file;
      acceptor_->HandleNewConnection(&connection);
    });
    SetServing(true);
    log_.Info("serving grpc", {{"address", gate_->listener().address()},
                               {"version", configuration_.engine.version},
                               {"tls", tls_ != nullptr},
                               {"authentication", !configuration_.secret_files.auth_config.empty()},
                               {"cpus", int64_t{configuration_.engine.cpus}},
                               {"memory_budget_bytes", configuration_.engine.memory_budget_bytes},
                               {"max_running", int64_t{configuration_.engine.max_running}},
                               {"max_waiting", int64_t{configuration_.engine.max_waiting}}});
    return absl::OkStatus();
  }

  // gRPC unpacks a message before it measures it: a small one could take all memory. It answers UNIMPLEMENTED.
  static void RefuseCompression(grpc::ServerBuilder& builder) {
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
    builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  }

  std::shared_ptr<grpc::ServerCredentials> ServerCredentials() const {
    return tls_ != nullptr ? tls_ : grpc::InsecureServerCredentials();
  }

  void PrepareReflection(grpc::ServerBuilder& builder) const {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    if (!configuration_.enable_reflection) builder.SetOption(std::make_unique<WithoutReflection>());
    // gRPC lists its health service there but does not bring the descriptor.
    google::protobuf::LinkMessageReflection<grpc::health::v1::HealthCheckRequest>();
  }

  // What a new start would mend when it has been wrong for too long. Stores that do not answer are waited for with time
  // limits, requests are read within seconds.
  Liveness::Parts LiveParts() {
    const auto pool = [](const Executor& executor) {
      return Liveness::Part{.check = [&executor] { return CheckGoesOn(executor); }, .patience = kStalledPatience};
    };
    return {{"listener", {[this] { return CheckListener(); }, kListenerPatience}},
            {"threads that read requests", pool(serving_)},
            {"threads that look things up", pool(lookups_)},
            {"threads that keep plans", pool(storing_)}};
  }

  absl::Status CheckListener() {
    if (!is_serving_) return absl::OkStatus();
    return CallOwnDoor(gate_->listener(), connections_, tls_ != nullptr, kOwnCallTimeout);
  }

  void SetServing(bool serving) {
    grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService();
    health->SetServingStatus(v1::PlanningService::service_full_name(), serving);
    health->SetServingStatus(v1::AdminService::service_full_name(), serving);
    health->SetServingStatus(serving);
    is_serving_ = serving;
  }

  void StartRunner(TenantTable tenants) {
    runner_ = std::make_unique<OperationRunner>(
        *store_,
        OperationRunner::Options{.max_running = configuration_.engine.max_operations,
                                 .lease = configuration_.operation_lease,
                                 .tenants = std::move(tenants)},
        OperationRunner::Hooks{.work =
                                   [this](OperationJob& job) {
                                     log_.Info("operation taken", {{"operation", job.operation().id},
                                                                   {"attempt", int64_t{job.operation().attempts}}});
                                     const SearchOrigin origin{job.operation().id, job.operation().tenant};
                                     return RunOperation({engine_, *store_, finder_, operating_}, job,
                                                         std::make_unique<SearchLog>(origin, metrics_, log_));
                                   },
                               .give_up = &GiveUpOperation,
                               .on_event = [this](const Operation& operation, const char* event,
                                                  const absl::Status& why) { LogOperation(operation, event, why); }});
  }

  void WakeRunner() {
    if (runner_ != nullptr) runner_->Wake();
  }

  void LogOperation(const Operation& operation, const char* event, const absl::Status& why) {
    metrics_.OperationOver(event);
    log_.Info("operation over", {{"operation", operation.id},
                                 {"event", std::string(event)},
                                 {"attempt", int64_t{operation.attempts}},
                                 {"error", std::string(why.message())}});
  }

  // What of tenants is counted elsewhere.
  std::map<std::string, TenantMetrics::Usage> UsageOfTenants() const {
    std::map<std::string, TenantMetrics::Usage> usage;
    for (const auto& [tenant, count] : calls_.Counts()) {
      usage[tenant].running_calls = count.running;
      usage[tenant].waiting_calls = count.waiting;
    }
    for (const auto& [tenant, stored] : usage_.Get()) {
      usage[tenant].stored_items = stored.documents;
      usage[tenant].stored_bytes = stored.bytes;
      usage[tenant].pending_operations = stored.pending_operations;
    }
    return usage;
  }

  HttpResponse ServeMetrics() {
    metrics_.tenants().SetUsage(UsageOfTenants());
    const AuditLog::Counts audit = audit_.counts();
    metrics_.SetAudit(audit.lines, audit.refused, audit.failed);
    const Executor::Load load = executor_.load();
    metrics_.SetRunningOperations(runner_ != nullptr ? runner_->running() : 0);
    metrics_.SetLoad(load.running, load.waiting);
    metrics_.SetLogDropped(log_.dropped());
    if (spans_ != nullptr) metrics_.SetSpans(spans_->counts().exported, spans_->counts().dropped);
    const Connections::Counts connections = connections_.counts();
    metrics_.SetConnections("grpc", CountsOf(connections));
    metrics_.SetConnections("http", CountsOf(http_connections_.counts()));
    if (pages_ != nullptr) metrics_.SetConnections("pages", CountsOf(pages_->connections()));
    metrics_.SetKnownConnections(connections.identified, connections.held_bytes);
    const PlanCache::Stats cache = engine_.cache_stats();
    const AnswerCache::Stats answers = answers_.stats();
    metrics_.SetCache({.hits = cache.hits + answers.hits,
                       .misses = cache.misses,
                       .shared = finder_.shared(),
                       .evictions = cache.usage.evictions + answers.usage.evictions,
                       .fetched = engine_.stored_plans_found(),
                       .dropped = engine_.stored_plans_dropped(),
                       .entries = cache.usage.entries + answers.usage.entries,
                       .bytes = cache.usage.bytes + answers.usage.bytes});
    return {200, metrics_.Text() + (pages_ != nullptr ? pages_->MetricsText() : "")};
  }

  HttpResponse ServeLiveness() const {
    const absl::Status status = liveness_.status();
    if (status.ok()) return {200, "ok\n"};
    return {503, absl::StrCat(status.message(), "\n")};
  }

  // A store that does not answer takes down what is stored, not planning; one of a newer release takes down the server,
  // whose successor is on its way.
  HttpResponse ServeReadiness() const {
    if (draining_) return {503, "draining\n"};
    const absl::Status store = upkeep_ != nullptr ? upkeep_->status() : absl::OkStatus();
    if (store.code() == absl::StatusCode::kFailedPrecondition) {
      return {503, absl::StrCat("--store: ", store.message(), "\n")};
    }
    if (!is_serving_) return {503, "starting\n"};
    const absl::Status live = liveness_.status();
    if (!live.ok()) return {503, absl::StrCat(live.message(), "\n")};
    std::vector<std::string> but;
    if (!store.ok()) {
      but.emplace_back(store.message());
    } else if (upkeep_ != nullptr && !upkeep_->warning().empty()) {
      but.push_back(upkeep_->warning());
    }
    // Refusals come with a time to come back, and kept answers are still given: another server may be as busy.
    if (executor_.load().waiting >= configuration_.engine.max_waiting) but.emplace_back("the queue is full");
    if (connections_.is_full()) but.emplace_back("every connection is taken");
    return {200, but.empty() ? "ok\n" : absl::StrCat("ok, but ", absl::StrJoin(but, "; "), "\n")};
  }

  const Configuration configuration_;
  const Logger& log_;
  Metrics metrics_;
  AuditLog audit_;
  CallRegistry calls_;
  // nullptr: nothing is kept.
  std::unique_ptr<Store> store_;
  PlanningEngine engine_;
  Authenticator authenticator_;
  // nullptr: no collector is told of calls.
  std::unique_ptr<SpanExporter> spans_;
  CertificateWatch certificates_;
  // nullptr: no TLS.
  std::shared_ptr<ReloadingTlsCredentials> tls_;
  StoredUsage usage_;
  TenantOverrides tenants_{[this](const TenantTable& tenants) { Limit(tenants); }};
  UnansweredCalls in_flight_;
  std::atomic<bool> draining_{false};
  std::atomic<bool> is_serving_{false};
  // The server ends before the executors, whose workers finish its calls, and all of them before what the calls use.
  // Searches hand their results to the serving threads, so they end first.
  std::unique_ptr<ClaimKeeper> claims_;
  const MemoryShares shares_;
  PlanFinder finder_;
  AnswerCache answers_;
  // What a worker destroys with a job counts here, also when the call is over already.
  Uploads uploads_;
  MemoryAccount unpacked_;
  MemoryAccount batches_;
  UnsentAnswers unsent_;
  Executor storing_;
  Executor serving_;
  Executor long_reads_;
  Executor executor_;
  // Searches of operations, each of which runs at once: operations_ runs no more of them at a time.
  Executor operating_;
  Executor lookups_;
  Executor retrievals_;
  PlanFinder::Ending finder_ending_{finder_};
  Operations operations_;
  Connections connections_;
  PlanningServiceImpl service_;
  AdminServiceImpl admin_;
  Connections http_connections_{HttpConnectionLimits()};
  SparePollers pollers_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<OperationRunner> runner_;
  std::unique_ptr<StoreUpkeep> upkeep_;
  // nullptr: no pages are served.
  std::unique_ptr<PagePort> pages_;
  Liveness liveness_{LiveParts(), log_};
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<Gate> http_gate_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const Configuration& configuration, const Logger& log,
                                                      std::span<grpc::Service* const> others) {
  auto store = OpenStore(configuration.store, configuration.migrate, configuration.store_alarm);
  if (!store.ok()) {
    return absl::Status(store.status().code(), absl::StrCat("--store=", ToAbsl(WithoutSecrets(configuration.store)),
                                                            ": ", store.status().message()));
  }
  auto daemon = std::make_unique<GrpcDaemon>(configuration, *std::move(store), log);
  RETURN_IF_ERROR(daemon->Start(others));
  return daemon;
}

}  // namespace planwright::server
