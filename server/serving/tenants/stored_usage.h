// What tenants have in the store, as it was counted lately.
#ifndef PLANWRIGHT_SERVER_SERVING_TENANTS_STORED_USAGE_H_
#define PLANWRIGHT_SERVER_SERVING_TENANTS_STORED_USAGE_H_

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "server/store/store.h"

namespace planwright::server {

// A thread that has the store count, which takes it a moment, so that nobody who asks waits. Thread-safe.
class StoredUsage {
 public:
  using ByTenant = std::map<std::string, TenantUsage>;

  // Counts nothing until Start.
  StoredUsage() = default;

  // Counts now and every `interval`; while the store does not answer, what was counted last stays. `store` outlives the
  // object. To be called at most once.
  void Start(Store& store, std::chrono::milliseconds interval = std::chrono::minutes(1));

  ByTenant Get() const;

 private:
  void Count(Store& store);

  mutable std::mutex mutex_;
  std::condition_variable_any ended_;
  // Guarded by mutex_.
  ByTenant usage_;
  // Last: it uses the above.
  std::jthread worker_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_TENANTS_STORED_USAGE_H_
