// What Prometheus is told of tenants, as many of them as it can be told of.
#ifndef PLANWRIGHT_SERVER_OBSERVABILITY_TENANT_METRICS_H_
#define PLANWRIGHT_SERVER_OBSERVABILITY_TENANT_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace planwright::server {

// Who a tenant is in labels. Where nobody checks who calls, tenants are whatever callers say: the first ones that are
// seen have their names, at most a number of them, all others are "other", as is one whose name is no plain word.
// Callers that are not known are "unknown". Thread-safe.
class TenantLabels {
 public:
  explicit TenantLabels(std::size_t most) : most_(most) {}

  // These tenants come first, whoever calls.
  void Reserve(const std::vector<std::string>& tenants);

  std::string LabelOf(const std::string& tenant);

 private:
  const std::size_t most_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::set<std::string> named_;
};

// Thread-safe.
class TenantMetrics {
 public:
  // What of a tenant is counted elsewhere.
  struct Usage {
    int running_calls = 0;
    int waiting_calls = 0;
    int64_t stored_items = 0;
    int64_t stored_bytes = 0;
    int64_t pending_operations = 0;
  };

  // `registry` outlives the object. At most `most` tenants are told apart.
  TenantMetrics(prometheus::Registry& registry, std::size_t most);

  // These tenants are told apart whoever calls.
  void Reserve(const std::vector<std::string>& tenants) { labels_.Reserve(tenants); }

  // `tenant` empty: it is not known who called. `code` as gRPC spells it.
  void CallHandled(const std::string& tenant, const std::string& code);
  void Searched(const std::string& tenant, std::chrono::nanoseconds elapsed);
  // `usage`: what every tenant uses that uses something; the others use nothing.
  void SetUsage(const std::map<std::string, Usage>& usage);

 private:
  TenantLabels labels_;
  prometheus::Family<prometheus::Counter>& calls_;
  prometheus::Family<prometheus::Counter>& search_seconds_;
  prometheus::Family<prometheus::Gauge>& running_;
  prometheus::Family<prometheus::Gauge>& waiting_;
  prometheus::Family<prometheus::Gauge>& stored_items_;
  prometheus::Family<prometheus::Gauge>& stored_bytes_;
  prometheus::Family<prometheus::Gauge>& pending_operations_;
  std::mutex mutex_;
  // Labels that have gauges. Guarded by mutex_.
  std::set<std::string> in_use_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_OBSERVABILITY_TENANT_METRICS_H_
