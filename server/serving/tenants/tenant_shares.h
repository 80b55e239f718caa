// Who of the tenants is next.
//
// Weighted fair sharing of workers' time between tenants: the next turn is that of the tenant that has used least so
// far, in proportion to its weight; what runs now counts for as long as it has run. (Start-time fair queueing by Goyal,
// Vin and Cheng, SIGCOMM 1996, with the time that was used in place of packet lengths, since nobody knows how long a
// search will take.) A tenant that comes back after a rest starts where the others are: rest earns nothing.
#ifndef PLANWRIGHT_SERVER_SERVING_TENANTS_TENANT_SHARES_H_
#define PLANWRIGHT_SERVER_SERVING_TENANTS_TENANT_SHARES_H_

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/serving/tenants/tenant_limits.h"

namespace planwright::server {

// Not thread-safe. Operations take time linear in the number of tenants that wait or have waited, but for sorting, at
// most kMaxTenants of those that rest.
class TenantShares {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Tenants that are remembered while they rest: where nobody checks who calls, tenants are whatever callers say.
  static constexpr std::size_t kMaxTenants = 1000;

  void SetTenants(TenantTable table) { table_ = std::move(table); }
  const TenantLimits& LimitsOf(const std::string& tenant) const { return table_.Of(tenant); }

  // Work of the tenant waits from now on, or none does any more.
  void SetWaiting(const std::string& tenant, bool waits, TimePoint now);
  // Exactly these wait.
  void SetAllWaiting(const std::vector<std::string>& tenants, TimePoint now);
  // Work of the tenant begins, and ends that began at `start`.
  void Start(const std::string& tenant, TimePoint now);
  void Finish(const std::string& tenant, TimePoint start, TimePoint now);

  std::size_t Running(const std::string& tenant) const;
  // Tenants that wait, in the order of their turns. kMany: those only that run less than their limit; kIdle: those only
  // that run nothing; kAll: whatever they run.
  enum class Who { kMany, kIdle, kAll };
  std::vector<std::string> InTurn(TimePoint now, Who who = Who::kMany) const;

 private:
  struct Use {
    bool waits = false;
    // When the work that runs now began.
    std::vector<TimePoint> running;
    // Seconds that were used, divided by the weight.
    double used = 0;

    bool is_active() const { return waits || !running.empty(); }
  };

  // Those that rest, where there are too many.
  void ForgetResting();
  // Of the tenants that wait or run; nullopt: none does.
  std::optional<double> LeastUsed(TimePoint now) const;
  double UsedBy(const std::string& tenant, const Use& use, TimePoint now) const;
  bool MayRun(const std::string& tenant, const Use& use, Who who) const;

  TenantTable table_;
  std::map<std::string, Use> uses_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_TENANTS_TENANT_SHARES_H_
