// Jobs of tenants that wait, in the order of their turns (tenant_shares.h).
#ifndef PLANWRIGHT_SERVER_SERVING_ADMISSION_FAIR_QUEUE_H_
#define PLANWRIGHT_SERVER_SERVING_ADMISSION_FAIR_QUEUE_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/serving/admission/queued_job.h"
#include "server/serving/tenants/tenant_limits.h"
#include "server/serving/tenants/tenant_shares.h"

namespace planwright::server {

// Not thread-safe. Operations take time linear in the number of tenants that have jobs or have had some.
//
// Invariants: (1) jobs of one tenant and priority leave in the order in which they came; (2) a background job waits for
// at most kTurns - 1 interactive ones of its tenant at a time; (3) no tenant runs more than its limit, unless told to.
class FairQueue {
 public:
  using Clock = std::chrono::steady_clock;
  using TimePoint = Clock::time_point;

  // One turn in so many is a background job's, where there is one.
  static constexpr int kTurns = 4;

  void SetTenants(TenantTable table) { shares_.SetTenants(std::move(table)); }

  // Whether the tenant of that name may bring one more job now; takes one of its tokens if so. Errors:
  // RESOURCE_EXHAUSTED with the time after which it may (RetryDelayOf).
  absl::Status Admit(const std::string& name, TimePoint now);
  // The job that was admitted last is not pushed after all.
  void GiveBack(const std::string& name);

  // Whatever the limits say.
  void Push(QueuedJob job, TimePoint now);

  // The job whose turn it is, which runs from now on; nullopt: there is none that may run, or it does not fit yet.
  std::optional<QueuedJob> Pop(TimePoint now, TenantShares::Who who = TenantShares::Who::kMany,
                               const std::function<bool(const QueuedJob&)>& fits = {});

  // A job of tenant `name` that was popped at `start` has ended.
  void Finish(const std::string& name, TimePoint start, TimePoint now);

  // Takes out the waiting jobs that `is_wanted` names.
  std::vector<QueuedJob> TakeIf(const std::function<bool(const QueuedJob&)>& is_wanted);

  // Takes out the newest job, one in the background before any other, of the tenant with the largest `excess` beyond 1;
  // none with QueuedJob::has_place. nullopt: there is none.
  std::optional<QueuedJob> TakeNewest(const std::function<double(const std::string& tenant)>& excess);

  std::size_t waiting() const { return waiting_; }
  bool HasWaiting(const std::string& name) const;
  std::size_t Running(const std::string& tenant) const { return shares_.Running(tenant); }
  // How many jobs are likely to have their turn before one that tenant `name` brings now.
  std::size_t Ahead(const std::string& name) const;

 private:
  struct Tenant {
    // By priority.
    std::array<std::deque<QueuedJob>, 2> waiting;
    int turns = 0;
    double tokens = 0;
    std::optional<TimePoint> tokens_at;

    // The tokens of a tenant with `limits` at `now`.
    double TokensAt(TimePoint now, const TenantLimits& limits) const;
    std::size_t waiting_count() const { return waiting[0].size() + waiting[1].size(); }
  };

  // The jobs of the tenant whose first one is next. REQUIRES: there is one.
  static std::deque<QueuedJob>& NextJobs(Tenant& tenant);
  // Takes the newest job without a place out of `tenant`; nullopt: there is none.
  static std::optional<QueuedJob> TakeNewestOf(Tenant& tenant);
  // Room for tenants that are not known yet: those that rest are forgotten, unless their rate has to be remembered.
  void ForgetIdle(TimePoint now);

  TenantShares shares_;
  std::map<std::string, Tenant> tenants_;
  std::size_t waiting_ = 0;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_ADMISSION_FAIR_QUEUE_H_
