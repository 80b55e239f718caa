#include "server/observability/tenant_metrics.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace planwright::server {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Registry;

constexpr char kOther[] = "other";
constexpr char kUnknown[] = "unknown";

Family<Counter>& MakeCounterFamily(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

Family<Gauge>& MakeGaugeFamily(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

// Fit for a label that people type into queries.
bool IsPlain(const std::string& tenant) {
  constexpr std::size_t kMaxBytes = 128;
  return tenant.size() <= kMaxBytes && std::all_of(tenant.begin(), tenant.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || std::string_view("-_.:/@").find(static_cast<char>(c)) != std::string::npos;
         });
}

}  // namespace

void TenantLabels::Reserve(const std::vector<std::string>& tenants) {
  for (const std::string& tenant : tenants) LabelOf(tenant);
}

std::string TenantLabels::LabelOf(const std::string& tenant) {
  if (tenant.empty()) return kUnknown;
  if (!IsPlain(tenant)) return kOther;
  const std::lock_guard lock(mutex_);
  if (named_.contains(tenant)) return tenant;
  if (named_.size() >= most_) return kOther;
  named_.insert(tenant);
  return tenant;
}

TenantMetrics::TenantMetrics(Registry& registry, std::size_t most)
    : labels_(most),
      calls_(MakeCounterFamily(registry, "planwright_tenant_calls_total",
                               "Calls of a tenant that were answered, by code.")),
      search_seconds_(MakeCounterFamily(registry, "planwright_tenant_search_seconds_total",
                                        "Seconds that the searches of a tenant took.")),
      running_(
          MakeGaugeFamily(registry, "planwright_tenant_running_calls", "Calls of a tenant that are being worked on.")),
      waiting_(MakeGaugeFamily(registry, "planwright_tenant_waiting_calls", "Calls of a tenant that wait.")),
      stored_items_(MakeGaugeFamily(registry, "planwright_tenant_stored_items",
                                    "Plans, graphs and clusters of a tenant in the store.")),
      stored_bytes_(MakeGaugeFamily(registry, "planwright_tenant_stored_bytes", "What they take, compressed.")),
      pending_operations_(MakeGaugeFamily(registry, "planwright_tenant_pending_operations",
                                          "Operations of a tenant that have not ended.")) {}

void TenantMetrics::CallHandled(const std::string& tenant, const std::string& code) {
  calls_.Add({{"tenant", labels_.LabelOf(tenant)}, {"grpc_code", code}}).Increment();
}

void TenantMetrics::Searched(const std::string& tenant, std::chrono::nanoseconds elapsed) {
  search_seconds_.Add({{"tenant", labels_.LabelOf(tenant)}}).Increment(std::chrono::duration<double>(elapsed).count());
}

void TenantMetrics::SetUsage(const std::map<std::string, Usage>& usage) {
  const std::lock_guard lock(mutex_);
  // Those that use nothing any more are told so.
  std::map<std::string, Usage> by_label;
  for (const std::string& label : in_use_) by_label.try_emplace(label);
  for (const auto& [tenant, used] : usage) {
    Usage& sum = by_label[labels_.LabelOf(tenant)];
    sum.running_calls += used.running_calls;
    sum.waiting_calls += used.waiting_calls;
    sum.stored_items += used.stored_items;
    sum.stored_bytes += used.stored_bytes;
    sum.pending_operations += used.pending_operations;
  }
  for (const auto& [label, sum] : by_label) {
    in_use_.insert(label);
    const std::map<std::string, std::string> labels = {{"tenant", label}};
    running_.Add(labels).Set(sum.running_calls);
    waiting_.Add(labels).Set(sum.waiting_calls);
    stored_items_.Add(labels).Set(static_cast<double>(sum.stored_items));
    stored_bytes_.Add(labels).Set(static_cast<double>(sum.stored_bytes));
    pending_operations_.Add(labels).Set(static_cast<double>(sum.pending_operations));
  }
}

}  // namespace planwright::server
