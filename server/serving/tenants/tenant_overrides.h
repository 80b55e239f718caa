// Limits of tenants: those of the configuration, and those that administrators have set since.
#ifndef PLANWRIGHT_SERVER_SERVING_TENANTS_TENANT_OVERRIDES_H_
#define PLANWRIGHT_SERVER_SERVING_TENANTS_TENANT_OVERRIDES_H_

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/serving/tenants/tenant_limits.h"

namespace planwright::server {

// What of a tenant's limits is to be changed; nullopt: it stays as it is.
struct LimitChange {
  std::optional<double> weight;
  std::optional<int> max_running;
  std::optional<int> max_waiting;
  std::optional<double> requests_per_second;
  std::optional<double> burst;
};

// `limits` with the change.
TenantLimits WithChange(TenantLimits limits, const LimitChange& change);

// Thread-safe. What was set outlives a new configuration: an operator who holds a tenant back does so until the server
// ends or the limits are reset. A change is kept, not its outcome, so that what was not set follows the configuration.
class TenantOverrides {
 public:
  // Tenants whose limits may be set at the same time.
  static constexpr std::size_t kMost = 1000;

  // Has limits take effect; called under a lock, with the whole table.
  using Apply = std::function<void(const TenantTable& table)>;

  // `apply` is called with every change, and by Configure.
  explicit TenantOverrides(Apply apply) : apply_(std::move(apply)) {}

  // The configuration says so from now on.
  void Configure(TenantTable configured);

  // On top of what was set before. RESOURCE_EXHAUSTED: that of too many tenants is.
  absl::Status Set(const std::string& tenant, const LimitChange& change);
  // Returns whether something was set.
  bool Reset(const std::string& tenant);

  struct State {
    // The effective limits of all tenants that have some.
    TenantTable table;
    // What was set.
    std::map<std::string, LimitChange> changes;
  };
  State state() const;

 private:
  // REQUIRES: mutex_ is held.
  TenantTable Table() const;

  const Apply apply_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  TenantTable configured_;
  std::map<std::string, LimitChange> changes_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_TENANTS_TENANT_OVERRIDES_H_
