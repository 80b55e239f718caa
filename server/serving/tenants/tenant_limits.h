// What one tenant may have of a server that several share.
#ifndef PLANWRIGHT_SERVER_SERVING_TENANTS_TENANT_LIMITS_H_
#define PLANWRIGHT_SERVER_SERVING_TENANTS_TENANT_LIMITS_H_

#include <limits>
#include <map>
#include <string>

namespace planwright::server {

struct TenantLimits {
  // Share of the searching time while others wait as well, in proportion to theirs; the same of the room of every
  // queue. > 0.
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

struct TenantTable {
  std::map<std::string, TenantLimits> named;
  // The limits of each tenant that is not named.
  TenantLimits others;

  const TenantLimits& Of(const std::string& tenant) const {
    const auto found = named.find(tenant);
    return found == named.end() ? others : found->second;
  }

  // Returns the weights without the limits, which are about searches, for the queues before and behind them.
  TenantTable Weights() const {
    TenantTable weights{.named = {}, .others = {.weight = others.weight}};
    for (const auto& [name, limits] : named) weights.named[name] = {.weight = limits.weight};
    return weights;
  }
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_TENANTS_TENANT_LIMITS_H_
