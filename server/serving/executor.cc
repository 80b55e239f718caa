#include "server/serving/executor.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/serving/retry_delay.h"

namespace planwright::server {
namespace {

// Of the calling thread: Linux keeps niceness by thread, and those that it starts begin with its own.
void BeNicer(int by) {
  if (by == 0) return;
  const auto thread = static_cast<id_t>(gettid());
  setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, thread) + by);
}

}  // namespace

Executor::Executor(Options options) : options_(std::move(options)) {
  for (int i = 0; i < options_.max_running; ++i) workers_.emplace_back([this] { Work(); });
}

Executor::~Executor() {
  StopAdmission();
  StopAll();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_arrived_.notify_all();
}

absl::Status Executor::Submit(Job job) {
  std::vector<Job> abandoned;
  absl::Status room;
  {
    const std::lock_guard lock(mutex_);
    if (!admitting_) {
      return WithRetryDelay(absl::UnavailableError("the server is shutting down"), options_.retry_delay);
    }
    if (!Room(job).ok()) abandoned = TakeAbandoned();
    room = Room(job);
    if (room.ok()) room = Timeliness(job);
    if (room.ok()) room = waiting_.Admit(job.tenant, options_.now());
    if (room.ok()) {
      bytes_ += job.bytes;
      waiting_.Push(std::move(job), options_.now());
    }
  }
  if (room.ok()) work_arrived_.notify_one();
  for (const Job& gone : abandoned) gone.run(Admission(gone));
  return room;
}

void Executor::Requeue(Job job) {
  std::stop_source stop = job.stop;
  bool is_stopped = false;
  {
    const std::lock_guard lock(mutex_);
    is_stopped = stopped_;
    bytes_ += job.bytes;
    waiting_.Push(std::move(job), options_.now());
  }
  if (is_stopped) stop.request_stop();
  work_arrived_.notify_one();
}

void Executor::SetTenants(TenantTable tenants) {
  {
    const std::lock_guard lock(mutex_);
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
  std::vector<Job> refused;
  std::vector<std::stop_source> running;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    refused = waiting_.TakeIf([](const Job&) { return true; });
    for (const Job& job : refused) bytes_ -= job.bytes;
    running.assign(running_.begin(), running_.end());
  }
  // Outside the lock: requesting a stop runs the callbacks that are registered for it.
  for (const std::stop_source& stop : running) stop.request_stop();
  for (const Job& job : refused) job.run(absl::UnavailableError("the server is shutting down"));
}

Executor::Load Executor::load() const {
  const std::lock_guard lock(mutex_);
  return {static_cast<int>(running_.size()), static_cast<int>(waiting_.waiting())};
}

bool Executor::is_admitting() const {
  const std::lock_guard lock(mutex_);
  return admitting_;
}

void Executor::Work() {
  BeNicer(options_.nice);
  std::unique_lock lock(mutex_);
  while (std::optional<Job> job = Next(lock)) {
    const Clock::time_point start = last_start_;
    const auto running = running_.insert(running_.end(), job->stop);
    running_bytes_ += job->running_bytes;
    lock.unlock();
    job->run(Admission(*job));
    const int64_t bytes = job->bytes;
    const int64_t running_bytes = job->running_bytes;
    const std::string tenant = std::move(job->tenant);
    job.reset();
    lock.lock();
    bytes_ -= bytes;
    running_bytes_ -= running_bytes;
    running_.erase(running);
    NoteEnd(tenant, start);
  }
}

std::optional<Job> Executor::Next(std::unique_lock<std::mutex>& lock) {
  while (true) {
    last_start_ = options_.now();
    const auto fits = [this](const Job& job) {
      return running_.empty() || job.running_bytes <= options_.max_running_bytes - running_bytes_;
    };
    std::optional<Job> job = waiting_.Pop(last_start_, /*any=*/ending_, fits);
    if (job.has_value() || ending_) return job;
    work_arrived_.wait(lock);
  }
}

void Executor::NoteEnd(const std::string& tenant, Clock::time_point start) {
  constexpr double kMemory = 0.8;
  const Clock::time_point now = options_.now();
  const double seconds = std::chrono::duration<double>(now - start).count();
  mean_seconds_ = kMemory * mean_seconds_.value_or(seconds) + (1 - kMemory) * seconds;
  waiting_.Finish(tenant, start, now);
  // Other jobs may run now, of the tenant or for want of room, although this worker takes one of another tenant.
  if (waiting_.waiting() > 0) work_arrived_.notify_all();
}

absl::Status Executor::Admission(const Job& job) const {
  if (job.stop.stop_requested()) return absl::CancelledError("cancelled while waiting for other requests");
  if (job.deadline.has_value() && options_.now() >= *job.deadline) {
    return absl::DeadlineExceededError("the deadline passed while waiting for other requests");
  }
  return absl::OkStatus();
}

absl::Status Executor::Room(const Job& job) const {
  const std::string load = absl::StrCat(running_.size(), " requests run and ", waiting_.waiting(), " wait");
  const auto full = [this](const std::string& why) {
    return WithRetryDelay(absl::ResourceExhaustedError("the server is full: " + why), options_.retry_delay);
  };
  const auto capacity = static_cast<std::size_t>(options_.max_running) + static_cast<std::size_t>(options_.max_waiting);
  if (running_.size() + waiting_.waiting() >= capacity) {
    return full(absl::StrCat(load, " (--max_running, --max_waiting)"));
  }
  const bool is_alone = running_.empty() && waiting_.waiting() == 0;
  if (!is_alone && job.bytes > options_.max_bytes - bytes_) {
    return full(absl::StrCat(load, " and hold ", bytes_, " bytes, this one has ", job.bytes,
                             ", together they may have ", options_.max_bytes, " (--memory_budget)"));
  }
  return absl::OkStatus();
}

absl::Status Executor::Timeliness(const Job& job) const {
  const auto workers = static_cast<std::size_t>(options_.max_running);
  if (!job.deadline.has_value() || !mean_seconds_.has_value()) return absl::OkStatus();
  const std::size_t ahead = running_.size() + waiting_.Ahead(job.tenant);
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

std::vector<Job> Executor::TakeAbandoned() {
  std::vector<Job> abandoned = waiting_.TakeIf([this](const Job& job) { return !Admission(job).ok(); });
  for (const Job& job : abandoned) bytes_ -= job.bytes;
  return abandoned;
}

}  // namespace planwright::server
