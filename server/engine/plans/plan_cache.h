// Plans that were made before, by what was asked for.
#ifndef PLANWRIGHT_SERVER_ENGINE_PLANS_PLAN_CACHE_H_
#define PLANWRIGHT_SERVER_ENGINE_PLANS_PLAN_CACHE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "server/engine/plans/plan_reuse.h"
#include "server/serving/cache/lru_cache.h"

namespace planwright::server {

// Thread-safe. Keys: plan_key.h.
class PlanCache {
 public:
  struct Stats {
    LruCache<CachedPlan>::Usage usage;
    // Requests that a kept plan answered, and those that it did not or for which there was none.
    int64_t hits = 0;
    int64_t misses = 0;
  };

  // 0: keeps nothing.
  explicit PlanCache(int64_t max_bytes) : plans_(max_bytes) {}

  // A plan that answers a request for `wanted`; nullptr: there is none. Counts as a hit or a miss.
  std::shared_ptr<const CachedPlan> Find(const std::string& key, const SearchEffort& wanted);

  // The plan of `key`, good enough or not; nullptr: there is none.
  std::shared_ptr<const CachedPlan> Peek(const std::string& key) { return plans_.Find(key); }

  // Keeps `plan` unless the one that is kept is of more use (Replaces); returns whether it did.
  bool Offer(const std::string& key, std::shared_ptr<const CachedPlan> plan);

  Stats stats() const;

 private:
  LruCache<CachedPlan> plans_;
  std::atomic<int64_t> hits_{0};
  std::atomic<int64_t> misses_{0};
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_PLANS_PLAN_CACHE_H_
