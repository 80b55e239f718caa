// What Prometheus is told. No label value comes from a request, but for the names of tenants (tenant_metrics.h).
#ifndef PLANWRIGHT_SERVER_OBSERVABILITY_METRICS_H_
#define PLANWRIGHT_SERVER_OBSERVABILITY_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "server/observability/tenant_metrics.h"

namespace planwright::server {

// Names of one RPC method, for labels and logs.
struct RpcMethod {
  // "planwright.v1.PlanningService".
  std::string service;
  // "CreatePlan".
  std::string method;
  // "unary", "server_stream" or "client_stream".
  std::string type = "unary";
};

// Counts of the plan cache since the start, and what it holds now.
struct CacheCounts {
  int64_t hits = 0;
  int64_t misses = 0;
  // Requests that were answered by a search under way for another one.
  int64_t shared = 0;
  int64_t evictions = 0;
  // Plans that came from the store, and those that were damaged there.
  int64_t fetched = 0;
  int64_t dropped = 0;
  int64_t entries = 0;
  int64_t bytes = 0;
};

// Counts of the connections of a port since the start, and what is open now.
struct ConnectionCounts {
  int64_t open = 0;
  int64_t accepted = 0;
  int64_t refused = 0;
  // By why.
  std::map<std::string, int64_t> ended;
};

// Thread-safe.
class Metrics {
 public:
  // At most `max_tenants` are told apart.
  explicit Metrics(const std::string& version, std::size_t max_tenants = 100);

  // grpc_server_*; `code` as gRPC spells it ("OK", "InvalidArgument"), as other gRPC metrics do.
  void RpcStarted(const RpcMethod& method);
  void RpcHandled(const RpcMethod& method, const std::string& code, std::chrono::nanoseconds elapsed);

  // A search ended with a plan. `algorithm` and `stop_reason` are names of ours.
  void SearchEnded(const std::string& algorithm, const std::string& stop_reason, std::chrono::nanoseconds elapsed);
  // A search ended without a plan; `code` as above.
  void SearchFailed(const std::string& code, std::chrono::nanoseconds elapsed);
  // The verifier refused a plan of ours: somebody should be woken.
  void PlanRejected();

  void SetLoad(int running, int waiting);
  void SetDraining(bool draining);
  // Certificates, tokens and limits were read again; `ok`: they were right.
  void Reloaded(bool ok);
  // Counts never fall.
  void SetCache(const CacheCounts& counts);

  // What a collector of traces has taken and what not; they never fall.
  void SetSpans(int64_t exported, int64_t dropped);
  // `port`: "grpc" or "http". Counts never fall.
  void SetConnections(const std::string& port, const ConnectionCounts& counts);
  // Connections of known callers to the port of gRPC, and what is held of messages that are not whole.
  void SetKnownConnections(int known, int64_t held_bytes);
  // Lines that the log had no room for; never falls.
  void SetLogDropped(int64_t lines);

  // When the first certificate of a file expires; `file` is a setting.
  void SetCertificateExpiry(const std::string& file, std::chrono::system_clock::time_point time);
  TenantMetrics& tenants() { return tenants_; }
  // Lines of the audit log, calls that were refused because of who called, and lines that the audit file did not take.
  // Counts never fall.
  void SetAudit(int64_t lines, int64_t refused, int64_t failed);

  void SetStoreUp(bool works);
  // What the store takes, what its disk has free (nullopt: not known), and whether it warns of something.
  void SetStoreRoom(int64_t store_bytes, std::optional<int64_t> free_bytes, bool warns);
  void SetRunningOperations(int running);
  // A server is done with an operation: "ended", "returned" to the queue, or "lost" to another server.
  void OperationOver(const std::string& event);
  // `rows` were kept long enough.
  void RowsDeleted(int64_t rows);

  // The exposition format, version 0.0.4.
  std::string Text() const;

 private:
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& started_;
  prometheus::Family<prometheus::Counter>& handled_;
  prometheus::Family<prometheus::Histogram>& handling_seconds_;
  prometheus::Family<prometheus::Counter>& searches_;
  prometheus::Family<prometheus::Counter>& failed_searches_;
  prometheus::Histogram& search_seconds_;
  prometheus::Counter& rejections_;
  prometheus::Gauge& running_;
  prometheus::Gauge& waiting_;
  prometheus::Gauge& draining_;
  prometheus::Family<prometheus::Counter>& reloads_;
  prometheus::Counter& cache_hits_;
  prometheus::Counter& cache_misses_;
  prometheus::Counter& cache_shared_;
  prometheus::Counter& cache_evictions_;
  prometheus::Counter& cache_fetched_;
  prometheus::Counter& cache_dropped_;
  prometheus::Gauge& cache_entries_;
  prometheus::Gauge& cache_bytes_;
  prometheus::Family<prometheus::Gauge>& connections_;
  prometheus::Family<prometheus::Counter>& accepted_connections_;
  prometheus::Family<prometheus::Counter>& refused_connections_;
  prometheus::Family<prometheus::Counter>& ended_connections_;
  prometheus::Gauge& known_connections_;
  prometheus::Gauge& held_bytes_;
  prometheus::Counter& spans_exported_;
  prometheus::Counter& spans_dropped_;
  prometheus::Counter& log_dropped_;
  prometheus::Family<prometheus::Gauge>& certificate_expiry_;
  prometheus::Counter& audit_lines_;
  prometheus::Counter& audit_refused_;
  prometheus::Counter& audit_failed_;
  prometheus::Gauge& store_up_;
  prometheus::Gauge& store_bytes_;
  prometheus::Gauge& store_free_bytes_;
  prometheus::Gauge& store_warning_;
  prometheus::Counter& rows_deleted_;
  prometheus::Gauge& running_operations_;
  prometheus::Family<prometheus::Counter>& operations_;
  TenantMetrics tenants_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_OBSERVABILITY_METRICS_H_
