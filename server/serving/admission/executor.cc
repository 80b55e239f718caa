#include "server/serving/admission/executor.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/serving/admission/niceness.h"
#include "server/serving/admission/retry_delay.h"

namespace planwright::server {

Executor::Visit::Visit(Executor& executor) : executor_(executor) {
  const std::lock_guard lock(executor_.mutex_);
  ++executor_.visits_;
}

Executor::Visit::~Visit() {
  // The executor may be gone once the lock is.
  const std::lock_guard lock(executor_.mutex_);
  if (--executor_.visits_ == 0) executor_.visits_ended_.notify_all();
}

// Runs what one worker hands to it: a thread that has been nice may not be less so afterwards, without privileges.
class Executor::NicerThread {
 public:
  // Errors: std::system_error, there are no more threads.
  explicit NicerThread(int nice) : thread_([this, nice] { Work(nice); }) {}
  ~NicerThread() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    arrived_.notify_one();
  }
  NicerThread(const NicerThread&) = delete;
  NicerThread& operator=(const NicerThread&) = delete;

  // Waits for the end of `job`.
  void Run(const std::function<void()>& job) {
    std::unique_lock lock(mutex_);
    job_ = &job;
    arrived_.notify_one();
    ended_.wait(lock, [this] { return job_ == nullptr; });
  }

 private:
  void Work(int nice) {
    BeNicer(nice);
    std::unique_lock lock(mutex_);
    while (true) {
      arrived_.wait(lock, [this] { return job_ != nullptr || ending_; });
      if (job_ == nullptr) return;
      lock.unlock();
      (*job_)();
      lock.lock();
      job_ = nullptr;
      ended_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable ended_;
  // Guarded by mutex_.
  const std::function<void()>* job_ = nullptr;
  bool ending_ = false;
  // Last: it uses all of the above.
  std::jthread thread_;
};

Executor::Executor(Options options)
    : options_(std::move(options)),
      room_({.count = int64_t{options_.max_running} + options_.max_waiting, .bytes = options_.max_bytes}) {
  for (int i = 0; i < options_.max_running + options_.spare; ++i) workers_.emplace_back([this] { Work(); });
}

Executor::~Executor() {
  StopAdmission();
  StopAll();
  {
    std::unique_lock lock(mutex_);
    visits_ended_.wait(lock, [this] { return visits_ == 0; });
    ending_ = true;
  }
  work_arrived_.notify_all();
}

absl::Status Executor::Submit(QueuedJob job) {
  // Takes neither a turn of its tenant nor the room of others.
  if (job.stop.stop_requested()) {
    job.run(Admission(job));
    return absl::OkStatus();
  }
  const Visit visit(*this);
  Watch(job);
  const uint64_t number = job.number;
  const std::stop_source stop = job.stop;
  std::vector<Refusal> refused;
  absl::Status admitted;
  {
    const std::lock_guard lock(mutex_);
    admitted = Admit(job, refused);
    if (admitted.ok()) Enter(std::move(job));
  }
  if (!refused.empty()) {
    // What stood behind them may fit.
    work_arrived_.notify_all();
  } else if (admitted.ok()) {
    work_arrived_.notify_one();
  }
  for (const Refusal& refusal : refused) refusal.job.run(refusal.why);
  // Before it was in the queue nobody could take it out.
  if (admitted.ok() && stop.stop_requested()) Abandon(number);
  return admitted;
}

void Executor::Requeue(QueuedJob job) {
  const Visit visit(*this);
  Watch(job);
  job.has_place = true;
  const uint64_t number = job.number;
  const std::stop_source stop = job.stop;
  bool is_stopped = false;
  {
    const std::lock_guard lock(mutex_);
    is_stopped = stopped_;
    Enter(std::move(job));
  }
  work_arrived_.notify_one();
  if (is_stopped) stop.request_stop();
  if (stop.stop_requested()) Abandon(number);
}

void Executor::Watch(QueuedJob& job) {
  using Callback = std::stop_callback<std::function<void()>>;
  job.number = ++numbers_;
  job.watch = std::make_shared<Callback>(job.stop.get_token(), [this, number = job.number] { Abandon(number); });
}

void Executor::Abandon(uint64_t number) {
  std::vector<QueuedJob> gone;
  {
    const std::lock_guard lock(mutex_);
    gone = waiting_.TakeIf([number](const QueuedJob& job) { return job.number == number; });
    for (const QueuedJob& job : gone) Release(job);
  }
  // What stood behind it may fit.
  if (!gone.empty()) work_arrived_.notify_all();
  for (const QueuedJob& job : gone) job.run(Admission(job));
}

absl::Status Executor::Admit(const QueuedJob& job, std::vector<Refusal>& refused) {
  if (!admitting_) {
    return WithRetryDelay(absl::UnavailableError("the server is shutting down"), options_.retry_delay);
  }
  if (!Room(job).ok() || !Timeliness(job).ok()) TakeAbandoned(refused);
  absl::Status admitted = waiting_.Admit(job.tenant, options_.now());
  if (!admitted.ok()) return admitted;
  admitted = Room(job);
  std::vector<QueuedJob> displaced;
  if (!admitted.ok()) displaced = Displace(job);
  if (!displaced.empty()) admitted = absl::OkStatus();
  if (admitted.ok()) admitted = Timeliness(job);
  if (!admitted.ok()) waiting_.GiveBack(job.tenant);
  for (QueuedJob& other : displaced) {
    if (admitted.ok()) {
      absl::Status why = WithRetryDelay(
          absl::ResourceExhaustedError("the server is full, and another tenant has less than its share: this request, "
                                       "the newest of a tenant with more than its own, gives way"),
          options_.retry_delay);
      refused.push_back({std::move(other), std::move(why)});
    } else {
      Enter(std::move(other));
    }
  }
  return admitted;
}

std::vector<QueuedJob> Executor::Displace(const QueuedJob& job) {
  const SharedRoom::Amount wanted{1, job.bytes};
  if (!room_.IsWithinShare(job.tenant, wanted)) return {};
  std::vector<QueuedJob> displaced;
  while (!room_.Fits(wanted)) {
    std::optional<QueuedJob> newest =
        waiting_.TakeNewest([&](const std::string& tenant) { return room_.TimesItsShare(tenant, job.tenant, wanted); });
    if (!newest.has_value()) break;
    Release(*newest);
    // The oldest first, so that they can go back in their order.
    displaced.insert(displaced.begin(), *std::move(newest));
  }
  if (room_.Fits(wanted)) return displaced;
  for (QueuedJob& other : displaced) Enter(std::move(other));
  return {};
}

void Executor::Enter(QueuedJob job) {
  room_.Add(job.tenant, {1, job.bytes});
  waiting_.Push(std::move(job), options_.now());
}

void Executor::Release(const QueuedJob& job) { room_.Remove(job.tenant, {1, job.bytes}); }

void Executor::SetTenants(TenantTable tenants) {
  {
    const std::lock_guard lock(mutex_);
    room_.SetTenants(tenants);
    waiting_.SetTenants(std::move(tenants));
  }
  // What a limit held back may run now.
  work_arrived_.notify_all();
}

void Executor::StopAdmission() {
  const std::lock_guard lock(mutex_);
  admitting_ = false;
}

void Executor::StopAll() {
  std::vector<QueuedJob> refused;
  std::vector<std::stop_source> running;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    refused = waiting_.TakeIf([](const QueuedJob&) { return true; });
    for (const QueuedJob& job : refused) Release(job);
    running.assign(running_.begin(), running_.end());
  }
  // Outside the lock: requesting a stop runs the callbacks that are registered for it.
  for (const std::stop_source& stop : running) stop.request_stop();
  for (const QueuedJob& job : refused) job.run(absl::UnavailableError("the server is shutting down"));
}

Executor::Load Executor::load() const {
  const std::lock_guard lock(mutex_);
  return {static_cast<int>(running_.size()), static_cast<int>(waiting_.waiting())};
}

bool Executor::HasWaiting(const std::string& tenant) const {
  const std::lock_guard lock(mutex_);
  return waiting_.HasWaiting(tenant);
}

std::chrono::nanoseconds Executor::stalled_for() const {
  const std::lock_guard lock(mutex_);
  // Whoever has ended a job has looked for the next one since.
  if (!AllBusy() || waiting_.waiting() == 0) return std::chrono::nanoseconds::zero();
  return options_.now() - last_start_;
}

bool Executor::is_admitting() const {
  const std::lock_guard lock(mutex_);
  return admitting_;
}

bool Executor::AllBusy() const { return running_.size() >= static_cast<std::size_t>(options_.max_running); }

void Executor::Work() {
  BeNicer(options_.nice);
  std::unique_ptr<NicerThread> nicer;
  std::unique_lock lock(mutex_);
  while (std::optional<QueuedJob> job = Next(lock)) {
    const Clock::time_point start = last_start_;
    const auto running = running_.insert(running_.end(), job->stop);
    running_bytes_ += job->running_bytes;
    // Now that the others are busy, whoever has nothing running comes before those whose turn it was.
    if (AllBusy() && waiting_.waiting() > 0) work_arrived_.notify_one();
    const bool has_backlog = waiting_.Running(job->tenant) > 1 || waiting_.HasWaiting(job->tenant);
    lock.unlock();
    const absl::Status admission = Admission(*job);
    Run(*job, admission, has_backlog, nicer);
    const SharedRoom::Amount held{1, job->bytes};
    const int64_t running_bytes = job->running_bytes;
    const std::string tenant = job->tenant;
    job.reset();
    lock.lock();
    room_.Remove(tenant, held);
    running_bytes_ -= running_bytes;
    running_.erase(running);
    NoteEnd(tenant, start, admission.ok());
  }
}

void Executor::Run(const QueuedJob& job, const absl::Status& admission, bool has_backlog,
                   std::unique_ptr<NicerThread>& nicer) const {
  const int nice = has_backlog ? options_.backlog_nice.value_or(options_.nice) : options_.nice;
  if (nice == options_.nice || !admission.ok()) {
    job.run(admission);
    return;
  }
  try {
    if (nicer == nullptr) nicer = std::make_unique<NicerThread>(nice);
  } catch (const std::system_error&) {
    // No more threads are to be had.
    job.run(admission);
    return;
  }
  nicer->Run([&] { job.run(admission); });
}

std::optional<QueuedJob> Executor::Next(std::unique_lock<std::mutex>& lock) {
  using Who = TenantShares::Who;
  while (true) {
    const Clock::time_point now = options_.now();
    const auto fits = [this](const QueuedJob& job) {
      return running_.empty() || job.running_bytes <= options_.max_running_bytes - running_bytes_;
    };
    const Who who = AllBusy() ? Who::kIdle : Who::kMany;
    std::optional<QueuedJob> job = waiting_.Pop(now, ending_ ? Who::kAll : who, fits);
    if (job.has_value()) last_start_ = now;
    if (job.has_value() || ending_) return job;
    work_arrived_.wait(lock);
  }
}

void Executor::NoteEnd(const std::string& tenant, Clock::time_point start, bool has_run) {
  constexpr double kMemory = 0.8;
  const Clock::time_point now = options_.now();
  const double seconds = std::chrono::duration<double>(now - start).count();
  if (has_run) mean_seconds_ = kMemory * mean_seconds_.value_or(seconds) + (1 - kMemory) * seconds;
  waiting_.Finish(tenant, start, now);
  // Other jobs may run now, of the tenant or for want of room, although this worker takes one of another tenant.
  if (waiting_.waiting() > 0) work_arrived_.notify_all();
}

absl::Status Executor::Admission(const QueuedJob& job) const {
  if (job.stop.stop_requested()) return absl::CancelledError("cancelled while waiting for other requests");
  if (job.deadline.has_value() && options_.now() >= *job.deadline) {
    return absl::DeadlineExceededError("the deadline passed while waiting for other requests");
  }
  return absl::OkStatus();
}

absl::Status Executor::Room(const QueuedJob& job) const {
  const std::string load = absl::StrCat(running_.size(), " requests run and ", waiting_.waiting(), " wait");
  const auto full = [this](const std::string& why) {
    return WithRetryDelay(absl::ResourceExhaustedError("the server is full: " + why), options_.retry_delay);
  };
  if (!room_.FitsCount({1, job.bytes})) return full(absl::StrCat(load, " (--max_running, --max_waiting)"));
  if (!room_.FitsBytes({1, job.bytes})) {
    return full(absl::StrCat(load, " and hold ", room_.used().bytes, " bytes, this one has ", job.bytes,
                             ", together they may have ", options_.max_bytes, " (--memory_budget)"));
  }
  return absl::OkStatus();
}

absl::Status Executor::Timeliness(const QueuedJob& job) const {
  const auto workers = static_cast<std::size_t>(options_.max_running);
  if (!job.deadline.has_value() || !mean_seconds_.has_value()) return absl::OkStatus();
  // What nothing of its tenant is in the way of has the spare threads, as far as one can tell.
  if (options_.spare > 0 && room_.UsedBy(job.tenant).count == 0) return absl::OkStatus();
  // What was told to stop is about to end.
  const auto goes_on = [](const std::stop_source& stop) { return !stop.stop_requested(); };
  const auto running = static_cast<std::size_t>(std::count_if(running_.begin(), running_.end(), goes_on));
  const std::size_t ahead = running + waiting_.Ahead(job.tenant);
  if (ahead < workers) return absl::OkStatus();
  // The workers end their jobs one after the other, one in a mean time divided by their number.
  const auto wait = std::chrono::duration<double>(*mean_seconds_ * static_cast<double>(ahead + 1 - workers) /
                                                  static_cast<double>(workers));
  const std::chrono::duration<double> left = *job.deadline - options_.now();
  if (wait <= left) return absl::OkStatus();
  const auto late = std::chrono::duration_cast<std::chrono::milliseconds>(wait - left);
  return WithRetryDelay(
      absl::ResourceExhaustedError(absl::StrCat("the server is full: ", ahead, " requests are ahead, which take about ",
                                                wait.count(), " s; the deadline is in ", left.count(), " s")),
      std::max(options_.retry_delay, late));
}

void Executor::TakeAbandoned(std::vector<Refusal>& refused) {
  for (QueuedJob& job : waiting_.TakeIf([this](const QueuedJob& waiting) { return !Admission(waiting).ok(); })) {
    Release(job);
    absl::Status why = Admission(job);
    refused.push_back({std::move(job), std::move(why)});
  }
}

}  // namespace planwright::server
