#include "server/main/store_upkeep.h"

#include <string>
#include <utility>

namespace planwright::server {
namespace {

constexpr std::chrono::seconds kCheckInterval{5};
constexpr std::chrono::hours kSweepInterval{1};

}  // namespace

StoreUpkeep::StoreUpkeep(Store& store, const Store::Retention& retention, Metrics& metrics, const Logger& log)
    : store_(store), retention_(retention), metrics_(metrics), log_(log) {
  Check();
  worker_ = std::jthread([this](const std::stop_token& stop) { Work(stop); });
}

absl::Status StoreUpkeep::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void StoreUpkeep::Work(const std::stop_token& stop) {
  auto next_sweep = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    if (std::chrono::steady_clock::now() >= next_sweep) {
      Sweep();
      next_sweep += kSweepInterval;
    }
    {
      std::unique_lock lock(mutex_);
      // Ends early only when the server does.
      if (ended_.wait_for(lock, stop, kCheckInterval, [&] { return stop.stop_requested(); })) return;
    }
    Check();
  }
}

void StoreUpkeep::Check() {
  absl::Status now = store_.Check();
  const bool works = now.ok();
  metrics_.SetStoreUp(works);
  const std::string why(now.message());
  absl::Status before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(status_, std::move(now));
  }
  if (before.ok() && !works) log_.Error("the store does not work", {{"error", why}});
  if (!before.ok() && works) log_.Info("the store works again");
}

void StoreUpkeep::Sweep() {
  const absl::StatusOr<int64_t> deleted = store_.Sweep(retention_);
  if (deleted.ok()) {
    metrics_.RowsDeleted(*deleted);
    if (*deleted > 0) log_.Info("swept the store", {{"rows", *deleted}});
  } else {
    log_.Warning("cannot sweep the store", {{"error", std::string(deleted.status().message())}});
  }
}

}  // namespace planwright::server
