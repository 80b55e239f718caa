#include "server/observability/metrics.h"

#include <prometheus/text_serializer.h>

#include <map>

namespace planwright::server {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

Family<Counter>& MakeCounter(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

Family<Histogram>& MakeHistogram(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

Gauge& MakeGauge(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

// From an answer without search to the longest search.
Histogram::BucketBoundaries Buckets() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600};
}

// Takes a counter to a count that is kept elsewhere.
void RaiseTo(int64_t count, Counter& counter) { counter.Increment(static_cast<double>(count) - counter.Value()); }

double ToSeconds(std::chrono::nanoseconds elapsed) { return std::chrono::duration<double>(elapsed).count(); }

std::map<std::string, std::string> LabelsOf(const RpcMethod& method) {
  return {{"grpc_service", method.service}, {"grpc_method", method.method}, {"grpc_type", method.type}};
}

}  // namespace

Metrics::Metrics(const std::string& version, std::size_t max_tenants)
    : started_(MakeCounter(registry_, "grpc_server_started_total", "RPCs started.")),
      handled_(MakeCounter(registry_, "grpc_server_handled_total", "RPCs answered, by code.")),
      handling_seconds_(
          MakeHistogram(registry_, "grpc_server_handling_seconds", "Time from the arrival of an RPC to its answer.")),
      searches_(MakeCounter(registry_, "planwright_searches_total",
                            "Searches that ended with a plan, by algorithm and by why they stopped.")),
      failed_searches_(
          MakeCounter(registry_, "planwright_failed_searches_total", "Searches that ended without a plan, by code.")),
      search_seconds_(MakeHistogram(registry_, "planwright_search_seconds", "Time of a search.").Add({}, Buckets())),
      rejections_(MakeCounter(registry_, "planwright_verifier_rejections_total",
                              "Plans of ours that the verifier refused; each is a defect.")
                      .Add({})),
      running_(MakeGauge(registry_, "planwright_running_requests", "Requests that are being worked on.")),
      waiting_(MakeGauge(registry_, "planwright_waiting_requests", "Requests that wait for their turn.")),
      draining_(MakeGauge(registry_, "planwright_draining", "1 while the server finishes its work before it ends.")),
      reloads_(MakeCounter(registry_, "planwright_reloads_total",
                           "Times that certificates, tokens and limits were read again, by outcome.")),
      cache_hits_(
          MakeCounter(registry_, "planwright_cache_hits_total", "Requests that a cached plan answered.").Add({})),
      cache_misses_(
          MakeCounter(registry_, "planwright_cache_misses_total", "Requests that no cached plan was good enough for.")
              .Add({})),
      cache_shared_(MakeCounter(registry_, "planwright_shared_searches_total",
                                "Requests answered by a search that was under way for another one.")
                        .Add({})),
      cache_evictions_(
          MakeCounter(registry_, "planwright_cache_evictions_total", "Cached plans that made room for others.")
              .Add({})),
      cache_fetched_(
          MakeCounter(registry_, "planwright_cache_fetched_total", "Cached plans that came from the store.").Add({})),
      cache_dropped_(MakeCounter(registry_, "planwright_cache_dropped_total",
                                 "Cached plans of the store that were damaged or wrong.")
                         .Add({})),
      cache_entries_(MakeGauge(registry_, "planwright_cache_entries", "Cached plans.")),
      cache_bytes_(MakeGauge(registry_, "planwright_cache_bytes", "Memory of the cached plans.")),
      connections_(prometheus::BuildGauge()
                       .Name("planwright_connections")
                       .Help("Connections that are open, by port.")
                       .Register(registry_)),
      accepted_connections_(
          MakeCounter(registry_, "planwright_accepted_connections_total", "Connections that came in, by port.")),
      refused_connections_(MakeCounter(registry_, "planwright_refused_connections_total",
                                       "Connections that were closed at once because known callers had every place.")),
      ended_connections_(MakeCounter(registry_, "planwright_ended_connections_total",
                                     "Connections that were ended: to make room for another one, because their host "
                                     "had too many, for their age, or for what they held.")),
      known_connections_(MakeGauge(registry_, "planwright_known_connections",
                                   "Connections that have carried a call of a known caller.")),
      held_bytes_(
          MakeGauge(registry_, "planwright_held_bytes", "What clients have sent of messages that are not whole.")),
      spans_exported_(MakeCounter(registry_, "planwright_spans_exported_total",
                                  "Spans that the collector of --otlp_endpoint has taken.")
                          .Add({})),
      spans_dropped_(MakeCounter(registry_, "planwright_spans_dropped_total",
                                 "Spans that it has not taken, or that found no room to wait.")
                         .Add({})),
      log_dropped_(MakeCounter(registry_, "planwright_log_dropped_total",
                               "Log lines that were dropped because whoever reads the log was too slow.")
                       .Add({})),
      certificate_expiry_(
          prometheus::BuildGauge()
              .Name("planwright_certificate_expiry_timestamp_seconds")
              .Help("When the first certificate of a file expires, or its revocation list is out of date.")
              .Register(registry_)),
      audit_lines_(MakeCounter(registry_, "planwright_audit_lines_total", "Lines of the audit log.").Add({})),
      audit_refused_(MakeCounter(registry_, "planwright_audit_refused_total",
                                 "Calls that were refused because of who called, those without a line among them.")
                         .Add({})),
      audit_failed_(MakeCounter(registry_, "planwright_audit_failed_total",
                                "Lines that the audit file did not take; they are in the log.")
                        .Add({})),
      store_up_(MakeGauge(registry_, "planwright_store_up", "1 while the store works; 0 also where there is none.")),
      store_bytes_(MakeGauge(registry_, "planwright_store_bytes", "What the store takes.")),
      store_free_bytes_(
          MakeGauge(registry_, "planwright_store_free_bytes", "What its disk has free; -1 where that is not known.")),
      store_warning_(MakeGauge(registry_, "planwright_store_warning",
                               "1 while somebody should look after the store: /readyz says why.")),
      rows_deleted_(MakeCounter(registry_, "planwright_store_deleted_rows_total",
                                "Rows of the store that were deleted because they had been kept long enough.")
                        .Add({})),
      running_operations_(
          MakeGauge(registry_, "planwright_running_operations", "Operations that are being worked on.")),
      operations_(MakeCounter(registry_, "planwright_operations_total",
                              "Operations that this server is done with: ended, returned to the queue, or lost to "
                              "another server.")),
      tenants_(registry_, max_tenants) {
  prometheus::BuildGauge()
      .Name("planwright_build_info")
      .Help("1, labelled with the version.")
      .Register(registry_)
      .Add({{"version", version}})
      .Set(1);
}

void Metrics::RpcStarted(const RpcMethod& method) { started_.Add(LabelsOf(method)).Increment(); }

void Metrics::RpcHandled(const RpcMethod& method, const std::string& code, std::chrono::nanoseconds elapsed) {
  std::map<std::string, std::string> labels = LabelsOf(method);
  handling_seconds_.Add(labels, Buckets()).Observe(ToSeconds(elapsed));
  labels["grpc_code"] = code;
  handled_.Add(labels).Increment();
}

void Metrics::SearchEnded(const std::string& algorithm, const std::string& stop_reason,
                          std::chrono::nanoseconds elapsed) {
  searches_.Add({{"algorithm", algorithm}, {"stop_reason", stop_reason}}).Increment();
  search_seconds_.Observe(ToSeconds(elapsed));
}

void Metrics::SearchFailed(const std::string& code, std::chrono::nanoseconds elapsed) {
  failed_searches_.Add({{"code", code}}).Increment();
  search_seconds_.Observe(ToSeconds(elapsed));
}

void Metrics::PlanRejected() { rejections_.Increment(); }

void Metrics::SetLoad(int running, int waiting) {
  running_.Set(running);
  waiting_.Set(waiting);
}

void Metrics::SetDraining(bool draining) { draining_.Set(draining ? 1 : 0); }

void Metrics::Reloaded(bool ok) { reloads_.Add({{"outcome", ok ? "ok" : "failed"}}).Increment(); }

void Metrics::SetCache(const CacheCounts& counts) {
  RaiseTo(counts.hits, cache_hits_);
  RaiseTo(counts.misses, cache_misses_);
  RaiseTo(counts.shared, cache_shared_);
  RaiseTo(counts.evictions, cache_evictions_);
  RaiseTo(counts.fetched, cache_fetched_);
  RaiseTo(counts.dropped, cache_dropped_);
  cache_entries_.Set(static_cast<double>(counts.entries));
  cache_bytes_.Set(static_cast<double>(counts.bytes));
}

void Metrics::SetConnections(const std::string& port, const ConnectionCounts& counts) {
  const std::map<std::string, std::string> labels = {{"port", port}};
  connections_.Add(labels).Set(static_cast<double>(counts.open));
  RaiseTo(counts.accepted, accepted_connections_.Add(labels));
  RaiseTo(counts.refused, refused_connections_.Add(labels));
  for (const auto& [reason, count] : counts.ended) {
    RaiseTo(count, ended_connections_.Add({{"port", port}, {"reason", reason}}));
  }
}

void Metrics::SetKnownConnections(int known, int64_t held_bytes) {
  known_connections_.Set(known);
  held_bytes_.Set(static_cast<double>(held_bytes));
}

void Metrics::SetSpans(int64_t exported, int64_t dropped) {
  RaiseTo(exported, spans_exported_);
  RaiseTo(dropped, spans_dropped_);
}

void Metrics::SetLogDropped(int64_t lines) { RaiseTo(lines, log_dropped_); }

void Metrics::SetCertificateExpiry(const std::string& file, std::chrono::system_clock::time_point time) {
  certificate_expiry_.Add({{"file", file}}).Set(ToSeconds(time.time_since_epoch()));
}

void Metrics::SetAudit(int64_t lines, int64_t refused, int64_t failed) {
  RaiseTo(lines, audit_lines_);
  RaiseTo(refused, audit_refused_);
  RaiseTo(failed, audit_failed_);
}

void Metrics::SetStoreUp(bool works) { store_up_.Set(works ? 1 : 0); }

void Metrics::SetStoreRoom(int64_t store_bytes, std::optional<int64_t> free_bytes, bool warns) {
  store_bytes_.Set(static_cast<double>(store_bytes));
  store_free_bytes_.Set(static_cast<double>(free_bytes.value_or(-1)));
  store_warning_.Set(warns ? 1 : 0);
}

void Metrics::RowsDeleted(int64_t rows) { rows_deleted_.Increment(static_cast<double>(rows)); }

void Metrics::SetRunningOperations(int running) { running_operations_.Set(running); }

void Metrics::OperationOver(const std::string& event) { operations_.Add({{"event", event}}).Increment(); }

std::string Metrics::Text() const { return prometheus::TextSerializer().Serialize(registry_.Collect()); }

}  // namespace planwright::server
