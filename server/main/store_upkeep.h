// Looks after the store while the server runs.
#ifndef PLANWRIGHT_SERVER_MAIN_STORE_UPKEEP_H_
#define PLANWRIGHT_SERVER_MAIN_STORE_UPKEEP_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "server/observability/log.h"
#include "server/observability/metrics.h"
#include "server/store/store.h"

namespace planwright::server {

// A thread that asks the store every few seconds whether it works, says so where that changes (log, metric), and every
// hour deletes what has been kept long enough or is too much. Several servers of a store may do so: what is gone is
// gone. Thread-safe.
class StoreUpkeep {
 public:
  // All of them outlive the object. Asks for the first time before it returns.
  StoreUpkeep(Store& store, const Store::Retention& retention, Metrics& metrics, const Logger& log);

  // How the store was when it was last asked.
  absl::Status status() const;
  // What somebody should look at although it works; empty: nothing.
  std::string warning() const;

 private:
  void Work(const std::stop_token& stop);
  void Check();
  void Sweep(const std::stop_token& stop);

  Store& store_;
  const Store::Retention retention_;
  Metrics& metrics_;
  const Logger& log_;
  mutable std::mutex mutex_;
  std::condition_variable_any ended_;
  // Guarded by mutex_.
  absl::Status status_;
  std::string warning_;
  // Last: uses the above.
  std::jthread worker_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_STORE_UPKEEP_H_
