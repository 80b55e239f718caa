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

std::string StoreUpkeep::warning() const {
  const std::lock_guard lock(mutex_);
  return warning_;
}

void StoreUpkeep::Work(const std::stop_token& stop) {
  auto next_sweep = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    if (std::chrono::steady_clock::now() >= next_sweep) {
      Sweep(stop);
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
  const StoreHealth health = store_.health();
  metrics_.SetStoreRoom(health.store_bytes, health.free_bytes, !health.warning.empty());
  std::string warned_before;
  absl::Status before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(status_, std::move(now));
    warned_before = std::exchange(warning_, health.warning);
  }
  if (before.ok() && !works) log_.Error("the store does not work", {{"error", why}});
  if (!before.ok() && works) log_.Info("the store works again");
  if (warned_before.empty() && !health.warning.empty()) {
    log_.Warning("the store should be looked after", {{"reason", health.warning}});
  }
}

void StoreUpkeep::Sweep(const std::stop_token& stop) {
  int64_t rows = 0;
  absl::StatusOr<int64_t> deleted = 0;
  do {
    deleted = store_.Sweep(retention_);
    rows += deleted.value_or(0);
    metrics_.RowsDeleted(deleted.value_or(0));
  } while (deleted.value_or(0) > 0 && !stop.stop_requested());
  if (rows > 0) log_.Info("swept the store", {{"rows", rows}});
  if (!deleted.ok()) {
    log_.Warning("cannot sweep the store", {{"error", std::string(deleted.status().message())}});
  }
}

}  // namespace planwright::server
