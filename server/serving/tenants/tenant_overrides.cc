#include "server/serving/tenants/tenant_overrides.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace planwright::server {

TenantLimits WithChange(TenantLimits limits, const LimitChange& change) {
  limits.weight = change.weight.value_or(limits.weight);
  limits.max_running = change.max_running.value_or(limits.max_running);
  limits.max_waiting = change.max_waiting.value_or(limits.max_waiting);
  limits.requests_per_second = change.requests_per_second.value_or(limits.requests_per_second);
  limits.burst = change.burst.value_or(limits.burst);
  return limits;
}

void TenantOverrides::Configure(TenantTable configured) {
  const std::lock_guard lock(mutex_);
  configured_ = std::move(configured);
  apply_(Table());
}

absl::Status TenantOverrides::Set(const std::string& tenant, const LimitChange& change) {
  const std::lock_guard lock(mutex_);
  if (changes_.size() >= kMost && !changes_.contains(tenant)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("limits of ", kMost, " tenants have been set: reset some, or write them into --auth_config"));
  }
  LimitChange& all = changes_[tenant];
  const auto take = [](const auto& from, auto& to) {
    if (from.has_value()) to = from;
  };
  take(change.weight, all.weight);
  take(change.max_running, all.max_running);
  take(change.max_waiting, all.max_waiting);
  take(change.requests_per_second, all.requests_per_second);
  take(change.burst, all.burst);
  apply_(Table());
  return absl::OkStatus();
}

bool TenantOverrides::Reset(const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  const bool was_set = changes_.erase(tenant) > 0;
  if (was_set) apply_(Table());
  return was_set;
}

TenantOverrides::State TenantOverrides::state() const {
  const std::lock_guard lock(mutex_);
  return {.table = Table(), .changes = changes_};
}

TenantTable TenantOverrides::Table() const {
  TenantTable table = configured_;
  for (const auto& [tenant, change] : changes_) table.named[tenant] = WithChange(configured_.Of(tenant), change);
  return table;
}

}  // namespace planwright::server
