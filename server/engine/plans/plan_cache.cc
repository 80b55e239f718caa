#include "server/engine/plans/plan_cache.h"

#include <utility>

namespace planwright::server {

std::shared_ptr<const CachedPlan> PlanCache::Find(const std::string& key, const SearchEffort& wanted) {
  const std::shared_ptr<const CachedPlan> plan = plans_.Find(key);
  const bool is_hit = plan != nullptr && Satisfies(*plan, wanted);
  ++(is_hit ? hits_ : misses_);
  return is_hit ? plan : nullptr;
}

bool PlanCache::Offer(const std::string& key, std::shared_ptr<const CachedPlan> plan) {
  // Two offers of one key at the same time: either may stay, both are plans of that key.
  const std::shared_ptr<const CachedPlan> kept = plans_.Find(key);
  if (kept != nullptr && !Replaces(*plan, *kept)) return false;
  const int64_t bytes = static_cast<int64_t>(key.size()) + BytesOf(*plan);
  plans_.Insert(key, std::move(plan), bytes);
  return true;
}

PlanCache::Stats PlanCache::stats() const { return {.usage = plans_.usage(), .hits = hits_, .misses = misses_}; }

}  // namespace planwright::server
