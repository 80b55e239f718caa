#include "server/engine/plans/plan_cache.h"

#include <cstddef>
#include <utility>

namespace planwright::server {

std::shared_ptr<const CachedPlan> PlanCache::Find(const std::string& key, const SearchEffort& wanted) {
  std::shared_ptr<const CachedPlan> plan = plans_.Find(key);
  const bool is_hit = plan != nullptr && Satisfies(*plan, wanted);
  ++(is_hit ? hits_ : misses_);
  return is_hit ? plan : nullptr;
}

bool PlanCache::Offer(const std::string& key, std::shared_ptr<const CachedPlan> plan) {
  // Two offers of one key at the same time: either may stay, both are plans of that key.
  const std::shared_ptr<const CachedPlan> kept = plans_.Find(key);
  if (kept != nullptr && !Replaces(*plan, *kept)) return false;
  std::size_t bytes = key.size() + plan->key.size() + plan->plan.SpaceUsedLong();
  for (const std::string& device : plan->devices) bytes += sizeof(device) + device.size();
  plans_.Insert(key, std::move(plan), static_cast<int64_t>(bytes));
  return true;
}

PlanCache::Stats PlanCache::stats() const { return {.usage = plans_.usage(), .hits = hits_, .misses = misses_}; }

}  // namespace planwright::server
