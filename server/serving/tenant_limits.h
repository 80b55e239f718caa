// What one tenant may have of a server that several share.
#ifndef PLANWRIGHT_SERVER_SERVING_TENANT_LIMITS_H_
#define PLANWRIGHT_SERVER_SERVING_TENANT_LIMITS_H_

#include <limits>
#include <map>
#include <string>

namespace planwright::server {

struct TenantLimits {
  // Share of the searching time while others wait as well, in proportion to theirs. > 0.
  double weight = 1;
  // Requests that run, and that wait, at the same time.
  int max_running = std::numeric_limits<int>::max();
  int max_waiting = std::numeric_limits<int>::max();
  // Requests that may come each second in the long run. > 0.
  double requests_per_second = std::numeric_limits<double>::infinity();
  // Requests that may come at once after a rest. >= 1.
  double burst = 1;

  bool operator==(const TenantLimits&) const = default;
};

// By tenant; a tenant without an entry has the defaults.
using TenantTable = std::map<std::string, TenantLimits>;

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_TENANT_LIMITS_H_
