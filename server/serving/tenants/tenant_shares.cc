#include "server/serving/tenants/tenant_shares.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace planwright::server {
namespace {

double SecondsBetween(TenantShares::TimePoint from, TenantShares::TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

void TenantShares::SetWaiting(const std::string& tenant, bool waits, TimePoint now) {
  ForgetResting();
  Use& own = uses_[tenant];
  if (waits && !own.is_active()) own.used = std::max(own.used, LeastUsed(now).value_or(own.used));
  own.waits = waits;
}

void TenantShares::SetAllWaiting(const std::vector<std::string>& tenants, TimePoint now) {
  const std::set<std::string_view> waiting(tenants.begin(), tenants.end());
  for (auto& [name, use] : uses_) use.waits = use.waits && waiting.contains(name);
  ForgetResting();
  // Whoever comes back has used no less than that afterwards, so it stays the least.
  std::optional<double> least = LeastUsed(now);
  for (const std::string& tenant : tenants) {
    Use& own = uses_[tenant];
    if (!own.is_active()) own.used = std::max(own.used, least.value_or(own.used));
    if (!least.has_value()) least = own.used;
    own.waits = true;
  }
}

void TenantShares::ForgetResting() {
  if (uses_.size() > kMaxTenants) std::erase_if(uses_, [](const auto& entry) { return !entry.second.is_active(); });
}

std::optional<double> TenantShares::LeastUsed(TimePoint now) const {
  std::optional<double> least;
  for (const auto& [name, use] : uses_) {
    if (use.is_active()) least = std::min(least.value_or(INFINITY), UsedBy(name, use, now));
  }
  return least;
}

void TenantShares::Start(const std::string& tenant, TimePoint now) { uses_[tenant].running.push_back(now); }

void TenantShares::Finish(const std::string& tenant, TimePoint start, TimePoint now) {
  Use& own = uses_[tenant];
  const auto ended = std::find(own.running.begin(), own.running.end(), start);
  if (ended != own.running.end()) own.running.erase(ended);
  own.used += SecondsBetween(start, now) / LimitsOf(tenant).weight;
}

std::size_t TenantShares::Running(const std::string& tenant) const {
  const auto found = uses_.find(tenant);
  return found == uses_.end() ? 0 : found->second.running.size();
}

bool TenantShares::MayRun(const std::string& tenant, const Use& use, Who who) const {
  if (who == Who::kAll) return true;
  if (use.running.size() >= static_cast<std::size_t>(LimitsOf(tenant).max_running)) return false;
  return who == Who::kMany || use.running.empty();
}

std::vector<std::string> TenantShares::InTurn(TimePoint now, Who who) const {
  std::vector<std::pair<double, std::string>> waiting;
  for (const auto& [name, use] : uses_) {
    if (use.waits && MayRun(name, use, who)) waiting.emplace_back(UsedBy(name, use, now), name);
  }
  // Ties by name.
  std::sort(waiting.begin(), waiting.end());
  std::vector<std::string> tenants;
  tenants.reserve(waiting.size());
  for (auto& [used, name] : waiting) tenants.push_back(std::move(name));
  return tenants;
}

double TenantShares::UsedBy(const std::string& tenant, const Use& use, TimePoint now) const {
  double running = 0;
  for (const TimePoint start : use.running) running += SecondsBetween(start, now);
  return use.used + running / LimitsOf(tenant).weight;
}

}  // namespace planwright::server
