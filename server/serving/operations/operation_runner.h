// Runs the operations of a store: takes them, keeps their leases, saves how far they are, ends them.
#ifndef PLANWRIGHT_SERVER_SERVING_OPERATIONS_OPERATION_RUNNER_H_
#define PLANWRIGHT_SERVER_SERVING_OPERATIONS_OPERATION_RUNNER_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "server/serving/tenants/tenant_limits.h"
#include "server/serving/tenants/tenant_shares.h"
#include "server/store/store.h"

namespace planwright::server {

// What one operation's work is told and tells. Thread-safe.
class OperationJob {
 public:
  explicit OperationJob(Operation operation) : operation_(std::move(operation)) {}

  const Operation& operation() const { return operation_; }
  // Requested when the operation is cancelled, taken over by somebody else, or the server ends.
  std::stop_token stop() const { return stop_.get_token(); }
  // The best so far, and in short; saved within a second or so, the latest only.
  void Save(std::string incumbent, std::string progress);
  // Waits; false: it is to stop.
  bool Pause(std::chrono::milliseconds time) const;

 private:
  friend class OperationRunner;

  struct Incumbent {
    std::string bytes;
    std::string progress;
  };

  const Operation operation_;
  std::stop_source stop_;
  // Held while an incumbent is on its way into the store, so that an older one never comes after a newer one. Taken
  // before mutex_.
  std::mutex saving_;
  mutable std::mutex mutex_;
  // Guarded by mutex_. What has not been saved yet.
  std::optional<Incumbent> unsaved_;
  bool is_cancelled_ = false;
  bool is_lost_ = false;
};

// A number of threads that each run one operation at a time, and one that keeps their leases. Tenants have their turns
// in proportion to their weights (tenant_shares.h), judged by what this runner has run; none has more of its threads at
// a time than its max_running. What happens when:
// - a server dies: its leases run out, and others take its operations, from the best that was saved;
// - the store does not answer: the work goes on, and its end is told as soon as the store is back, unless somebody else
//   has taken it over by then, who is right;
// - the runner ends: what runs is stopped, saved and put back into the queue.
// An operation that has been taken far too often has ended its servers: it ends with an error instead of the next one.
class OperationRunner {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    // Operations at the same time. >= 1.
    int max_running = 1;
    std::chrono::milliseconds lease{30'000};
    // How often an idle runner asks the store for work, beside being told (Wake).
    std::chrono::milliseconds idle_poll{1'000};
    // How often incumbents are saved, leases renewed and cancellations heard of, and how soon an end that the store did
    // not take is told again.
    std::chrono::milliseconds save_interval{500};
    int32_t max_attempts = 50;
    // As SetTenants.
    TenantTable tenants;
    // Replaced by tests.
    std::function<Clock::time_point()> now = &Clock::now;
  };

  struct Hooks {
    // Does the work; to end with kCancelled where it stopped because job.stop() was requested, with what it has, or
    // where the store does not work.
    std::function<OperationEnd(OperationJob& job)> work;
    // The end of an operation that was taken too often.
    std::function<OperationEnd(const Operation& operation)> give_up;
    // Told when something is over, for logs and metrics: "ended", "returned", "lost", and why if the store said so. May
    // be empty.
    std::function<void(const Operation& operation, const char* event, const absl::Status& why)> on_event;
  };

  // `store` outlives the runner. Begins at once.
  OperationRunner(Store& store, Options options, Hooks hooks);
  // As Stop.
  ~OperationRunner();
  OperationRunner(const OperationRunner&) = delete;
  OperationRunner& operator=(const OperationRunner&) = delete;

  // Weights and limits of tenants, for operations that are taken from now on.
  void SetTenants(TenantTable tenants);
  // Something was submitted: an idle thread looks for it now.
  void Wake();
  // Takes no more, stops what runs, puts it back. Returns when that is done.
  void Stop();

  int running() const;

 private:
  using JobPtr = std::shared_ptr<OperationJob>;

  void Work(const std::stop_token& stop);
  // An operation of the tenant whose turn it is, which begins at `start`; nullopt: there is none, the store does not
  // answer, or the worker is to stop.
  std::optional<Operation> Take(Clock::time_point& start, const std::stop_token& stop);
  void Run(const JobPtr& job, const std::stop_token& stop);
  void Conclude(OperationJob& job, const OperationEnd& end, const std::stop_token& stop);
  void KeepLeases(const std::stop_token& stop);
  void Attend(OperationJob& job);
  void SaveUnsaved(OperationJob& job);
  static void Lose(OperationJob& job);
  void Report(const Operation& operation, const char* event, const absl::Status& why = absl::OkStatus()) const;

  Store& store_;
  const Options options_;
  const Hooks hooks_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  // Guarded by mutex_.
  int64_t submissions_ = 0;
  std::list<JobPtr> running_;
  TenantShares shares_;
  // Held from asking the store to starting what it gave, so that every turn counts for the next. Taken before mutex_.
  std::mutex taking_;
  // Last: the threads use all of the above. The keeper ends after the workers.
  std::jthread keeper_;
  std::vector<std::jthread> workers_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_OPERATIONS_OPERATION_RUNNER_H_
