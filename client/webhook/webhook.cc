#include "client/webhook/webhook.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/library/version.h"
#include "client/webhook/hook_metrics.h"
#include "client/webhook/http/https_server.h"
#include "client/webhook/planning_clients.h"
#include "client/webhook/review_desk.h"
#include "server/connections/connections.h"
#include "server/connections/gate.h"
#include "server/connections/listener.h"
#include "server/main/configuration/connection_settings.h"
#include "server/main/tls/text_file.h"
#include "server/main/tls/tls_identity.h"
#include "server/observability/http_server.h"

namespace planwright::webhook {
namespace {

// What tells a file from the same one before: a new name behind the links of a mounted Secret is another inode.
struct FileStamp {
  ino_t inode = 0;
  off_t size = 0;
  timespec changed{};

  bool operator==(const FileStamp& other) const {
    return inode == other.inode && size == other.size && changed.tv_sec == other.changed.tv_sec &&
           changed.tv_nsec == other.changed.tv_nsec;
  }
};

// All zero where there is none.
FileStamp StampOf(const std::string& name) {
  struct stat facts {};
  if (name.empty() || stat(name.c_str(), &facts) != 0) return {};
  return {.inode = facts.st_ino, .size = facts.st_size, .changed = facts.st_mtim};
}

absl::StatusOr<std::unique_ptr<server::Listener>> Listen(const std::string& address, const char* flag) {
  auto listener = server::Listener::Open(address);
  if (listener.ok()) return listener;
  return absl::Status(listener.status().code(),
                      absl::StrCat(listener.status().message(), "; choose another with ", flag));
}

class RunningWebhook final : public Webhook {
 public:
  RunningWebhook(const Settings& settings, const server::Logger& log)
      : settings_(settings),
        log_(log),
        metrics_(client::kVersion),
        clients_(settings.service),
        desk_(settings.policy, settings.max_reviews, clients_, metrics_),
        http_connections_(server::HttpConnectionLimits()) {}

  ~RunningWebhook() override {
    if (!is_drained_) Drain();
    http_gate_.reset();
    http_.reset();
    // What is still being judged replies to connections, which go after it.
    desk_.Finish();
  }

  absl::Status Begin() {
    stamps_ = Stamps();
    const auto tls = ReadTls();
    if (!tls.ok()) return tls.status();
    for (const absl::Status& status : {LoadTokens(), LoadPools()}) {
      if (!status.ok()) return status;
    }
    auto listener = Listen(settings_.listen_address, "--listen_address");
    if (!listener.ok()) return listener.status();
    const std::string address = (*listener)->address();
    auto https = HttpsServer::Start(
        *std::move(listener), settings_.limits, *tls,
        [this](const std::shared_ptr<Exchange>& exchange) { desk_.Take(exchange); },
        {.answered = [this](int code, std::chrono::duration<double> took) { metrics_.Answered(code, took); }});
    if (!https.ok()) return https.status();
    https_ = *std::move(https);
    const absl::Status http = StartHttp();
    if (!http.ok()) return http;
    log_.Info("serving reviews", {{"address", address}});
    watcher_ = std::jthread([this](const std::stop_token& stop) { Watch(stop); });
    return absl::OkStatus();
  }

  void Reload() override {
    const std::lock_guard lock(reloading_);
    const auto tls = ReadTls();
    if (tls.ok()) https_->SetTls(*tls);
    for (const absl::Status& status : {tls.status(), LoadTokens(), LoadPools()}) {
      metrics_.Reloaded(status.ok());
      if (!status.ok()) log_.Error("a file stays as it was", {{"error", std::string(status.message())}});
    }
    log_.Info("read files again");
  }

  void AnnounceEnd() override {
    is_ending_ = true;
    https_->AnnounceEnd();
    log_.Info("ending");
  }

  void Drain() override {
    is_ending_ = true;
    is_drained_ = true;
    watcher_ = {};
    if (https_ != nullptr) https_->Drain();
    log_.Info("drained");
  }

 private:
  absl::StatusOr<TlsContext> ReadTls() {
    const auto identity = server::ReadTlsIdentity(settings_.tls);
    if (!identity.ok()) return identity.status();
    auto tls = MakeTlsContext(identity->certificate_chain, identity->private_key, identity->client_ca);
    if (!tls.ok()) return tls;
    for (const server::Expiry& expiry : identity->expiries) metrics_.SetCertificateExpiry(expiry.file, expiry.time);
    return tls;
  }

  absl::Status LoadTokens() {
    auto tokens = ReadTokens(settings_.token_file, settings_.tokens_file);
    if (!tokens.ok()) return tokens.status();
    clients_.SetTokens(*std::move(tokens));
    return absl::OkStatus();
  }

  // A ConfigMap that the inventory has not yet written has no file; its folder is there.
  bool ArePoolsToCome() const {
    const std::filesystem::path file(settings_.pools_file);
    std::error_code ignored;
    return !has_pools_ && !std::filesystem::exists(file, ignored) &&
           std::filesystem::is_directory(file.has_parent_path() ? file.parent_path() : ".", ignored);
  }

  absl::Status LoadPools() {
    if (ArePoolsToCome()) {
      log_.Warning("no pools yet", {{"file", settings_.pools_file}});
      return absl::OkStatus();
    }
    const auto text = server::ReadTextFile(settings_.pools_file);
    if (!text.ok()) return absl::InvalidArgumentError(absl::StrCat("--pools_file: ", text.status().message()));
    auto pools = ParsePools(*text, settings_.pools_file);
    if (!pools.ok()) return absl::InvalidArgumentError(absl::StrCat("--pools_file: ", pools.status().message()));
    metrics_.SetPools(static_cast<int64_t>(pools->pools.size()), pools->updated.value_or(absl::UnixEpoch()));
    desk_.SetPools(std::make_shared<const Pools>(*std::move(pools)));
    has_pools_ = true;
    return absl::OkStatus();
  }

  std::vector<FileStamp> Stamps() const {
    std::vector<FileStamp> stamps;
    for (const std::string& name : {settings_.tls.certificate_chain, settings_.tls.private_key, settings_.tls.client_ca,
                                    settings_.token_file, settings_.tokens_file, settings_.pools_file}) {
      stamps.push_back(StampOf(name));
    }
    return stamps;
  }

  // Reads files again when one has changed. A pair that is being written may be broken for a moment; its next change,
  // which completes it, is seen as well.
  void Watch(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any ended;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      ended.wait_for(lock, stop, settings_.reload_interval, [] { return false; });
      if (stop.stop_requested()) return;
      std::vector<FileStamp> stamps = Stamps();
      if (stamps == stamps_) continue;
      stamps_ = std::move(stamps);
      Reload();
    }
  }

  absl::Status StartHttp() {
    if (settings_.metrics_address.empty()) return absl::OkStatus();
    auto listener = Listen(settings_.metrics_address, "--metrics_address");
    if (!listener.ok()) return listener.status();
    auto http = server::HttpServer::Start({{"/metrics", {[this] { return ServeMetrics(); }, false}},
                                           {"/livez", {[] {
                                              return server::HttpResponse{200, "ok\n"};
                                            }}},
                                           {"/readyz", {[this] { return ServeReadiness(); }}}});
    if (!http.ok()) return http.status();
    http_ = *std::move(http);
    http_gate_ = std::make_unique<server::Gate>(
        *std::move(listener), http_connections_,
        [this](int file, const server::SocketAddress& peer) { http_->Serve(file, peer.get(), peer.length); });
    log_.Info("serving http", {{"address", http_gate_->listener().address()}});
    return absl::OkStatus();
  }

  server::HttpResponse ServeMetrics() {
    metrics_.SetLoad(https_->connections(), https_->body_bytes(), desk_.waiting());
    return {200, metrics_.Text()};
  }

  // Without planwrightd jobs are admitted with a warning, so the hook is ready without it.
  server::HttpResponse ServeReadiness() const {
    return is_ending_ ? server::HttpResponse{503, "draining\n"} : server::HttpResponse{200, "ok\n"};
  }

  const Settings settings_;
  const server::Logger& log_;
  HookMetrics metrics_;
  PlanningClients clients_;
  ReviewDesk desk_;
  std::atomic<bool> is_ending_ = false;
  bool is_drained_ = false;
  // One at a time.
  std::mutex reloading_;
  // Whether the pools file has been read once; under reloading_, once the hook runs.
  bool has_pools_ = false;
  // Only the watching thread uses it, once that runs.
  std::vector<FileStamp> stamps_;
  server::Connections http_connections_;
  std::unique_ptr<server::HttpServer> http_;
  std::unique_ptr<server::Gate> http_gate_;
  std::unique_ptr<HttpsServer> https_;
  // Last: uses the above.
  std::jthread watcher_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Webhook>> Webhook::Start(const Settings& settings, const server::Logger& log) {
  auto webhook = std::make_unique<RunningWebhook>(settings, log);
  const absl::Status begun = webhook->Begin();
  if (!begun.ok()) return begun;
  return webhook;
}

}  // namespace planwright::webhook
