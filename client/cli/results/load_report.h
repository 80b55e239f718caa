// What goes on at a server, as text for people and as JSON.
#ifndef PLANWRIGHT_CLIENT_CLI_RESULTS_LOAD_REPORT_H_
#define PLANWRIGHT_CLIENT_CLI_RESULTS_LOAD_REPORT_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "planwright/v1/admin_service.pb.h"

namespace planwright::client {

// What a tenant has used since the server began.
struct TenantCounters {
  int64_t calls = 0;
  double search_seconds = 0;
};

// What a server counts (docs/operations.md, Metrics): totals since it began, and what holds now.
struct LoadCounters {
  std::string version;
  // Searches now.
  int64_t running_searches = 0;
  int64_t waiting_searches = 0;
  // The plan cache: requests that it has answered and those that it could not, those that shared the search of another
  // one, what it holds now, and what it gave up for lack of room.
  int64_t cache_hits = 0;
  int64_t cache_misses = 0;
  int64_t shared_searches = 0;
  int64_t cached_plans = 0;
  int64_t cached_bytes = 0;
  int64_t evicted_plans = 0;
  std::map<std::string, TenantCounters> tenants;
};

// One look at a server.
struct ServerLoad {
  std::string address;
  v1::ListCallsResponse calls;
  v1::ListTenantsResponse tenants;
  // Operations that have not ended; a page token: there are more.
  v1::ListTenantOperationsResponse operations;
  // The counters, or why they are not known.
  absl::StatusOr<LoadCounters> counters;
};

// Queue and cache, then tenants, calls and operations, each with the busiest or oldest first.
std::string LoadReport(const ServerLoad& load);

// An object with "server", "tenants", "calls", "total_calls" and "operations" in the protobuf JSON mapping; where
// counters are known also "version", "queue", "cache" and, of each tenant, "calls" and "search_seconds"; else
// "counters_missing" says why they are not.
std::string LoadJson(const ServerLoad& load);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_RESULTS_LOAD_REPORT_H_
