#include "client/cli/results/load_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/report/admin_report.h"
#include "client/report/json.h"
#include "client/report/quantities.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMillisecondsPerSecond = 1000;

// The busiest first, then by name.
std::vector<const v1::TenantInfo*> ByLoad(const v1::ListTenantsResponse& response) {
  std::vector<const v1::TenantInfo*> tenants;
  for (const v1::TenantInfo& tenant : response.tenants()) tenants.push_back(&tenant);
  std::stable_sort(tenants.begin(), tenants.end(), [](const v1::TenantInfo* one, const v1::TenantInfo* other) {
    return one->running_calls() + one->waiting_calls() > other->running_calls() + other->waiting_calls();
  });
  return tenants;
}

TenantCounters CountersOf(const ServerLoad& load, const std::string& tenant) {
  const auto found = load.counters->tenants.find(tenant);
  return found == load.counters->tenants.end() ? TenantCounters{} : found->second;
}

std::string QueueAndCacheText(const ServerLoad& load) {
  if (!load.counters.ok()) {
    return Wrapped(absl::StrCat("queue and cache are not known: ",
                                Printable(std::string(load.counters.status().message()))),
                   2) +
           "\n";
  }
  const LoadCounters& counters = *load.counters;
  const int64_t asked = counters.cache_hits + counters.cache_misses;
  return absl::StrCat(
      "queue  ", CountedText(counters.running_searches, "search runs", "searches run"), ", ",
      GroupedText(counters.waiting_searches), counters.waiting_searches == 1 ? " waits\n" : " wait\n",
      Wrapped(absl::StrCat("cache  ", CountedText(counters.cached_plans, "plan", "plans"), ", ",
                           BytesText(counters.cached_bytes), "; answered ", GroupedText(counters.cache_hits), " of ",
                           CountedText(asked, "request", "requests"), ", ", GroupedText(counters.shared_searches),
                           " shared a search, ", CountedText(counters.evicted_plans, "plan", "plans"), " made room"),
              2),
      "\n");
}

std::string TenantsText(const ServerLoad& load) {
  if (load.tenants.tenants().empty()) return "No tenant is known.\n";
  Table table({Table::Cutting("tenant", 24),
               {"running", kRight},
               {"waiting", kRight},
               {"operations", kRight},
               {"calls", kRight},
               {"searched", kRight},
               {"stored", kRight},
               {"bytes", kRight}});
  for (const v1::TenantInfo* tenant : ByLoad(load.tenants)) {
    std::string calls = "-";
    std::string searched = "-";
    if (load.counters.ok()) {
      const TenantCounters counters = CountersOf(load, tenant->name());
      calls = GroupedText(counters.calls);
      searched = DurationText(counters.search_seconds * kMillisecondsPerSecond);
    }
    table.AddRow({tenant->name(), GroupedText(tenant->running_calls()), GroupedText(tenant->waiting_calls()),
                  GroupedText(tenant->pending_operations()), calls, searched, GroupedText(tenant->stored_items()),
                  BytesText(tenant->stored_bytes())});
  }
  const int rest = load.tenants.total_tenants() - load.tenants.tenants_size();
  return table.ToString() + (rest > 0 ? absl::StrCat("and ", rest, " more\n") : "");
}

std::string OperationsText(const v1::ListTenantOperationsResponse& operations) {
  if (operations.operations().empty()) return "There are no operations that have not ended.\n";
  return absl::StrCat(TenantOperationsReport({operations.operations().begin(), operations.operations().end()}),
                      operations.next_page_token().empty() ? "" : "and more\n");
}

}  // namespace

std::string LoadReport(const ServerLoad& load) {
  return absl::StrCat(Printable(load.address), load.counters.ok() ? ", planwrightd " : "",
                      load.counters.ok() ? Printable(load.counters->version) : "", "\n", QueueAndCacheText(load), "\n",
                      TenantsText(load), "\n", CallsReport(load.calls), "\n", OperationsText(load.operations));
}

std::string LoadJson(const ServerLoad& load) {
  Json json = {{"server", load.address}};
  if (load.counters.ok()) {
    const LoadCounters& counters = *load.counters;
    json["version"] = counters.version;
    json["queue"] = {{"running", counters.running_searches}, {"waiting", counters.waiting_searches}};
    json["cache"] = {{"plans", counters.cached_plans},     {"bytes", counters.cached_bytes},
                     {"hits", counters.cache_hits},        {"misses", counters.cache_misses},
                     {"shared", counters.shared_searches}, {"evicted", counters.evicted_plans}};
  } else {
    json["counters_missing"] = std::string(load.counters.status().message());
  }
  json["tenants"] = Json::parse(JsonText(load.tenants))["tenants"];
  if (load.counters.ok()) {
    for (Json& tenant : json["tenants"]) {
      const TenantCounters counters = CountersOf(load, tenant["name"]);
      tenant["calls"] = counters.calls;
      tenant["search_seconds"] = counters.search_seconds;
    }
  }
  json["calls"] = Json::parse(JsonText(load.calls))["calls"];
  json["total_calls"] = load.calls.total_calls();
  json["operations"] = Json::parse(JsonText(load.operations))["operations"];
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace planwright::client
