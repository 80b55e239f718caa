#include "server/serving/tenants/stored_usage.h"

#include <utility>

namespace planwright::server {

void StoredUsage::Start(Store& store, std::chrono::milliseconds interval) {
  worker_ = std::jthread([this, &store, interval](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      Count(store);
      std::unique_lock lock(mutex_);
      // Ends early only when the object does.
      ended_.wait_for(lock, stop, interval, [&stop] { return stop.stop_requested(); });
    }
  });
}

StoredUsage::ByTenant StoredUsage::Get() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

void StoredUsage::Count(Store& store) {
  auto counted = store.CountUsage();
  if (!counted.ok()) return;
  const std::lock_guard lock(mutex_);
  usage_ = *std::move(counted);
}

}  // namespace planwright::server
