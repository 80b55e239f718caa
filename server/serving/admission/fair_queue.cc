#include "server/serving/admission/fair_queue.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/serving/admission/retry_delay.h"

namespace planwright::server {

double FairQueue::Tenant::TokensAt(TimePoint now, const TenantLimits& limits) const {
  if (!tokens_at.has_value()) return limits.burst;
  const double rested = std::chrono::duration<double>(now - *tokens_at).count();
  return std::min(limits.burst, tokens + rested * limits.requests_per_second);
}

absl::Status FairQueue::Admit(const std::string& name, TimePoint now) {
  if (tenants_.size() > TenantShares::kMaxTenants) ForgetIdle(now);
  Tenant& tenant = tenants_[name];
  const TenantLimits& limits = shares_.LimitsOf(name);
  const std::size_t running = shares_.Running(name);
  const bool may_run = running < static_cast<std::size_t>(limits.max_running);
  if (tenant.waiting_count() >= static_cast<std::size_t>(limits.max_waiting) &&
      (tenant.waiting_count() > 0 || !may_run)) {
    return WithRetryDelay(
        absl::ResourceExhaustedError(absl::StrCat("the tenant ", name, " is full: ", running,
                                                  " of its requests run and ", tenant.waiting_count(), " wait")),
        kRetryDelay);
  }
  if (std::isinf(limits.requests_per_second)) return absl::OkStatus();
  tenant.tokens = tenant.TokensAt(now, limits);
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

void FairQueue::GiveBack(const std::string& name) {
  if (std::isinf(shares_.LimitsOf(name).requests_per_second)) return;
  tenants_[name].tokens += 1;
}

void FairQueue::ForgetIdle(TimePoint now) {
  std::erase_if(tenants_, [this, now](const auto& entry) {
    const auto& [name, tenant] = entry;
    const TenantLimits& limits = shares_.LimitsOf(name);
    return tenant.waiting_count() == 0 && shares_.Running(name) == 0 &&
           (std::isinf(limits.requests_per_second) || tenant.TokensAt(now, limits) >= limits.burst);
  });
}

void FairQueue::Push(QueuedJob job, TimePoint now) {
  if (tenants_.size() > TenantShares::kMaxTenants) ForgetIdle(now);
  shares_.SetWaiting(job.tenant, /*waits=*/true, now);
  tenants_[job.tenant].waiting[static_cast<std::size_t>(job.priority)].push_back(std::move(job));
  ++waiting_;
}

std::optional<QueuedJob> FairQueue::Pop(TimePoint now, TenantShares::Who who,
                                        const std::function<bool(const QueuedJob&)>& fits) {
  const std::vector<std::string> turns = shares_.InTurn(now, who);
  if (turns.empty()) return std::nullopt;
  Tenant& next = tenants_[turns.front()];
  std::deque<QueuedJob>& jobs = NextJobs(next);
  if (fits && !fits(jobs.front())) return std::nullopt;
  QueuedJob job = std::move(jobs.front());
  jobs.pop_front();
  ++next.turns;
  --waiting_;
  shares_.Start(turns.front(), now);
  shares_.SetWaiting(turns.front(), next.waiting_count() > 0, now);
  return job;
}

void FairQueue::Finish(const std::string& name, TimePoint start, TimePoint now) { shares_.Finish(name, start, now); }

std::vector<QueuedJob> FairQueue::TakeIf(const std::function<bool(const QueuedJob&)>& is_wanted) {
  std::vector<QueuedJob> taken;
  for (auto& [name, tenant] : tenants_) {
    for (std::deque<QueuedJob>& jobs : tenant.waiting) {
      const auto first =
          std::stable_partition(jobs.begin(), jobs.end(), [&](const QueuedJob& job) { return !is_wanted(job); });
      taken.insert(taken.end(), std::make_move_iterator(first), std::make_move_iterator(jobs.end()));
      jobs.erase(first, jobs.end());
    }
    if (tenant.waiting_count() == 0) shares_.SetWaiting(name, /*waits=*/false, TimePoint());
  }
  waiting_ -= taken.size();
  return taken;
}

std::optional<QueuedJob> FairQueue::TakeNewest(const std::function<double(const std::string& tenant)>& excess) {
  std::multimap<double, const std::string*, std::greater<>> beyond;
  for (const auto& [name, tenant] : tenants_) {
    const double by = tenant.waiting_count() > 0 ? excess(name) : 0;
    if (by > 1) beyond.emplace(by, &name);
  }
  for (const auto& [by, name] : beyond) {
    Tenant& tenant = tenants_.at(*name);
    std::optional<QueuedJob> newest = TakeNewestOf(tenant);
    if (!newest.has_value()) continue;
    --waiting_;
    if (tenant.waiting_count() == 0) shares_.SetWaiting(*name, /*waits=*/false, TimePoint());
    return newest;
  }
  return std::nullopt;
}

std::optional<QueuedJob> FairQueue::TakeNewestOf(Tenant& tenant) {
  for (auto jobs = tenant.waiting.rbegin(); jobs != tenant.waiting.rend(); ++jobs) {
    const auto newest = std::find_if(jobs->rbegin(), jobs->rend(), [](const QueuedJob& job) { return !job.has_place; });
    if (newest == jobs->rend()) continue;
    std::optional<QueuedJob> taken = std::move(*newest);
    jobs->erase(std::prev(newest.base()));
    return taken;
  }
  return std::nullopt;
}

bool FairQueue::HasWaiting(const std::string& name) const {
  const auto found = tenants_.find(name);
  return found != tenants_.end() && found->second.waiting_count() > 0;
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

std::deque<QueuedJob>& FairQueue::NextJobs(Tenant& tenant) {
  const bool is_background_turn = (tenant.turns + 1) % kTurns == 0;
  std::deque<QueuedJob>& preferred = tenant.waiting[is_background_turn ? 1 : 0];
  return preferred.empty() ? tenant.waiting[is_background_turn ? 0 : 1] : preferred;
}

}  // namespace planwright::server
