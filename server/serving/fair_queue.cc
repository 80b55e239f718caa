#include "server/serving/fair_queue.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/serving/retry_delay.h"

namespace planwright::server {
namespace {

// What a tenant that waits too much is told to wait.
constexpr std::chrono::milliseconds kRetryDelay{1000};

double SecondsBetween(FairQueue::TimePoint from, FairQueue::TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

absl::Status FairQueue::Admit(const std::string& name, TimePoint now) {
  Tenant& tenant = tenants_[name];
  const TenantLimits& limits = LimitsOf(name);
  if (tenant.waiting_count() >= static_cast<std::size_t>(limits.max_waiting) &&
      (tenant.waiting_count() > 0 || !MayRun(name, tenant, /*any=*/false))) {
    return WithRetryDelay(
        absl::ResourceExhaustedError(absl::StrCat("the tenant ", name, " is full: ", tenant.running.size(),
                                                  " of its requests run and ", tenant.waiting_count(), " wait")),
        kRetryDelay);
  }
  if (std::isinf(limits.requests_per_second)) return absl::OkStatus();
  if (!tenant.tokens_at.has_value()) tenant.tokens = limits.burst;
  const double rested = SecondsBetween(tenant.tokens_at.value_or(now), now);
  tenant.tokens = std::min(limits.burst, tenant.tokens + rested * limits.requests_per_second);
  tenant.tokens_at = now;
  if (tenant.tokens < 1) {
    const double seconds = (1 - tenant.tokens) / limits.requests_per_second;
    return WithRetryDelay(
        absl::ResourceExhaustedError(absl::StrCat("the tenant ", name, " may send ", limits.requests_per_second,
                                                  " requests a second, and sends more")),
        std::chrono::milliseconds(static_cast<int64_t>(std::ceil(seconds * 1000))));
  }
  tenant.tokens -= 1;
  return absl::OkStatus();
}

void FairQueue::Push(Job job, TimePoint now) {
  // Where nobody checks who calls, tenants are whatever callers say.
  if (tenants_.size() > kMaxTenants)
    std::erase_if(tenants_, [](const auto& entry) { return !entry.second.is_active(); });
  const std::string name = job.tenant;
  Tenant& tenant = tenants_[name];
  if (!tenant.is_active()) {
    std::optional<double> least;
    for (const auto& [other_name, other] : tenants_) {
      if (other.is_active()) least = std::min(least.value_or(INFINITY), UsedBy(other_name, other, now));
    }
    tenant.used = std::max(tenant.used, least.value_or(tenant.used));
  }
  tenant.waiting[static_cast<std::size_t>(job.priority)].push_back(std::move(job));
  ++waiting_;
}

std::optional<Job> FairQueue::Pop(TimePoint now, bool any) {
  Tenant* next = nullptr;
  double least = 0;
  for (auto& [name, tenant] : tenants_) {
    if (tenant.waiting_count() == 0 || !MayRun(name, tenant, any)) continue;
    const double used = UsedBy(name, tenant, now);
    if (next != nullptr && used >= least) continue;
    next = &tenant;
    least = used;
  }
  if (next == nullptr) return std::nullopt;
  next->running.push_back(now);
  --waiting_;
  return TakeFirst(*next);
}

void FairQueue::Finish(const std::string& name, TimePoint start, TimePoint now) {
  Tenant& tenant = tenants_[name];
  const auto ended = std::find(tenant.running.begin(), tenant.running.end(), start);
  if (ended != tenant.running.end()) tenant.running.erase(ended);
  tenant.used += SecondsBetween(start, now) / LimitsOf(name).weight;
}

std::vector<Job> FairQueue::TakeIf(const std::function<bool(const Job&)>& is_wanted) {
  std::vector<Job> taken;
  for (auto& [name, tenant] : tenants_) {
    for (std::deque<Job>& jobs : tenant.waiting) {
      const auto first =
          std::stable_partition(jobs.begin(), jobs.end(), [&](const Job& job) { return !is_wanted(job); });
      taken.insert(taken.end(), std::make_move_iterator(first), std::make_move_iterator(jobs.end()));
      jobs.erase(first, jobs.end());
    }
  }
  waiting_ -= taken.size();
  return taken;
}

std::size_t FairQueue::Ahead(const std::string& name) const {
  const auto found = tenants_.find(name);
  const std::size_t own = found == tenants_.end() ? 0 : found->second.waiting_count();
  std::size_t ahead = own;
  for (const auto& [other_name, other] : tenants_) {
    // Each of the others has about as many turns before.
    if (other_name != name) ahead += std::min(other.waiting_count(), own + 1);
  }
  return ahead;
}

const TenantLimits& FairQueue::LimitsOf(const std::string& tenant) const {
  static const TenantLimits kDefaults;
  const auto found = table_.find(tenant);
  return found == table_.end() ? kDefaults : found->second;
}

double FairQueue::UsedBy(const std::string& name, const Tenant& tenant, TimePoint now) const {
  double running = 0;
  for (const TimePoint start : tenant.running) running += SecondsBetween(start, now);
  return tenant.used + running / LimitsOf(name).weight;
}

bool FairQueue::MayRun(const std::string& name, const Tenant& tenant, bool any) const {
  return any || tenant.running.size() < static_cast<std::size_t>(LimitsOf(name).max_running);
}

Job FairQueue::TakeFirst(Tenant& tenant) {
  const bool is_background_turn = ++tenant.turns % kTurns == 0;
  std::deque<Job>& preferred = tenant.waiting[is_background_turn ? 1 : 0];
  std::deque<Job>& jobs = preferred.empty() ? tenant.waiting[is_background_turn ? 0 : 1] : preferred;
  Job job = std::move(jobs.front());
  jobs.pop_front();
  return job;
}

}  // namespace planwright::server
