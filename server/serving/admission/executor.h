// Who may search now, who waits, who is sent away.
//
// A fixed number of worker threads takes jobs from one bounded queue, in turns that are fair to tenants (fair_queue.h).
// A job that finds the queue full, or that would have its turn after its deadline, is refused at once, so that the
// caller can go elsewhere; a job whose caller gives up while it waits leaves the queue at that moment, without being
// run. One tenant may fill the queue; when another one brings a job then, within its share of the room, the newest jobs
// of whoever is beyond its own are refused instead (shared_room.h).
#ifndef PLANWRIGHT_SERVER_SERVING_ADMISSION_EXECUTOR_H_
#define PLANWRIGHT_SERVER_SERVING_ADMISSION_EXECUTOR_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "server/serving/admission/fair_queue.h"
#include "server/serving/admission/queued_job.h"
#include "server/serving/admission/shared_room.h"
#include "server/serving/tenants/tenant_limits.h"

namespace planwright::server {

// Thread-safe.
//
// Invariants: (1) at most max_running jobs run, and `spare` more, and at most max_waiting wait, they hold at most
// max_bytes, and those that run at most max_running_bytes besides: a job whose turn it is waits until there is room,
// and is not overtaken; (2) `run` of an accepted job is called exactly once, with OK only on a worker; (3) no lock is
// held while `run` runs.
class Executor {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    // By how much the workers yield to others (niceness.h), and those of them that are at jobs of tenants of which
    // others run or wait: who wants one answer comes before who wants many. 0 <= nice <= backlog_nice.
    int nice = 0;
    std::optional<int> backlog_nice = std::nullopt;
    // >= 1.
    int max_running = 1;
    // Jobs that may run besides, of tenants of which nothing runs: who comes first does not have to wait for the end of
    // what another one runs on all threads. >= 0.
    int spare = 0;
    // >= 0.
    int max_waiting = 0;
    // What the jobs that wait and run may hold together; a job that is alone may be larger.
    int64_t max_bytes = std::numeric_limits<int64_t>::max();
    // The most that QueuedJob::running_bytes of the jobs that run may add up to; a job that runs alone may take more.
    int64_t max_running_bytes = std::numeric_limits<int64_t>::max();
    // What a refused caller is told to wait.
    std::chrono::milliseconds retry_delay{1000};
    // Replaced by tests.
    std::function<Clock::time_point()> now = &Clock::now;
  };

  using QueuedJob = server::QueuedJob;

  struct Load {
    int running = 0;
    int waiting = 0;
  };

  explicit Executor(Options options);
  // As StopAdmission and StopAll; waits for the running jobs, and for calls that have not returned though their jobs
  // have ended.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Queues `job`; it may start, or be answered, before Submit returns. On error `run` is not called.
  // Errors: RESOURCE_EXHAUSTED, full, for all or for its tenant, or too late for its deadline (RetryDelayOf);
  // UNAVAILABLE after StopAdmission (RetryDelayOf).
  absl::Status Submit(QueuedJob job);

  // Puts the rest of a job at the end of the queue, so that others have their turn: its place is its own, so it is
  // never refused. To be called as the last act of `run`, where for a moment the job counts twice, or later, when its
  // client has taken what there was. Its `run` is called as if it had been submitted, maybe at once where its caller
  // has gone, also after StopAdmission; after StopAll its stop is requested.
  void Requeue(QueuedJob job);

  // Weights and limits of tenants, for jobs that are not running yet.
  void SetTenants(TenantTable tenants);

  // Every later Submit is refused; what runs or waits goes on.
  void StopAdmission();

  // Asks the running jobs to stop and answers the waiting ones with UNAVAILABLE. Returns without waiting for the
  // former.
  void StopAll();

  Load load() const;
  // Whether jobs of `tenant` wait for their turn.
  bool HasWaiting(const std::string& tenant) const;
  // For how long jobs have waited while every worker was at one and the same job; zero: they go on.
  std::chrono::nanoseconds stalled_for() const;
  // False after StopAdmission.
  bool is_admitting() const;

 private:
  struct Refusal {
    QueuedJob job;
    absl::Status why;
  };

  // Held by a call that queues a job: whoever waits for that job may end the executor before the call returns.
  class Visit {
   public:
    explicit Visit(Executor& executor);
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Executor& executor_;
  };

  class NicerThread;

  void Work();
  // Runs `job`, where it has to be as nice as jobs of a backlog on `nicer`, which is made when it is needed first.
  void Run(const QueuedJob& job, const absl::Status& admission, bool has_backlog,
           std::unique_ptr<NicerThread>& nicer) const;
  // Whether max_running jobs run, so that others may only if they are of tenants of which nothing runs. REQUIRES:
  // mutex_ is held.
  bool AllBusy() const;
  // Gives `job` its number and has it taken out of the queue when its stop is requested.
  void Watch(QueuedJob& job);
  // Answers the job of that number if it waits, because its caller has gone.
  void Abandon(uint64_t number);
  // OK, or why `job` is not worth running any more.
  absl::Status Admission(const QueuedJob& job) const;
  // Whether `job` may be queued now, and those who have to go for it. REQUIRES: mutex_ is held.
  absl::Status Admit(const QueuedJob& job, std::vector<Refusal>& refused);
  // Takes out of the queue what has to give way to `job`; nothing where that would not make room. REQUIRES: mutex_ is
  // held, and there is no room.
  std::vector<QueuedJob> Displace(const QueuedJob& job);
  // Into the queue, and out of its accounts. REQUIRES: mutex_ is held.
  void Enter(QueuedJob job);
  void Release(const QueuedJob& job);
  // Why `job` cannot be taken in addition to the others; OK: it can. REQUIRES: mutex_ is held.
  absl::Status Room(const QueuedJob& job) const;
  // Why `job` would be too late, as far as one can tell; OK: it would not. REQUIRES: mutex_ is held.
  absl::Status Timeliness(const QueuedJob& job) const;
  // The next job, once there is one; nullopt: the executor ends. REQUIRES: `lock` holds mutex_.
  std::optional<QueuedJob> Next(std::unique_lock<std::mutex>& lock);
  // A job of `tenant` that began at `start` has ended; `has_run`: it was not only answered. REQUIRES: mutex_ is held.
  void NoteEnd(const std::string& tenant, Clock::time_point start, bool has_run);
  // Takes out the waiting jobs whose callers have given up, or whose time is over. REQUIRES: mutex_ is held.
  void TakeAbandoned(std::vector<Refusal>& refused);

  const Options options_;
  std::atomic<uint64_t> numbers_{0};
  mutable std::mutex mutex_;
  std::condition_variable work_arrived_;
  std::condition_variable visits_ended_;
  // Guarded by mutex_.
  FairQueue waiting_;
  std::list<std::stop_source> running_;
  // Mean time of the jobs that ended lately, in seconds; nullopt: none has.
  std::optional<double> mean_seconds_;
  // When the job that was taken last began.
  Clock::time_point last_start_;
  // What jobs that wait and run hold.
  SharedRoom room_;
  // Their sum over the jobs that run.
  int64_t running_bytes_ = 0;
  bool admitting_ = true;
  bool stopped_ = false;
  bool ending_ = false;
  int visits_ = 0;
  // Last: the threads use all of the above.
  std::vector<std::jthread> workers_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_ADMISSION_EXECUTOR_H_
