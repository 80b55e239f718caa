#include "server/serving/executor.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/serving/retry_delay.h"

namespace planwright::server {

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
    if (room.ok()) {
      bytes_ += job.bytes;
      waiting_.push_back(std::move(job));
    }
  }
  if (room.ok()) work_arrived_.notify_one();
  for (const Job& gone : abandoned) gone.run(Admission(gone));
  return room.ok() ? room : WithRetryDelay(std::move(room), options_.retry_delay);
}

void Executor::Requeue(Job job) {
  {
    const std::lock_guard lock(mutex_);
    bytes_ += job.bytes;
    waiting_.push_back(std::move(job));
  }
  work_arrived_.notify_one();
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
    refused.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(waiting_.end()));
    waiting_.clear();
    for (const Job& job : refused) bytes_ -= job.bytes;
    running.assign(running_.begin(), running_.end());
  }
  // Outside the lock: requesting a stop runs the callbacks that are registered for it.
  for (const std::stop_source& stop : running) stop.request_stop();
  for (const Job& job : refused) job.run(absl::UnavailableError("the server is shutting down"));
}

Executor::Load Executor::load() const {
  const std::lock_guard lock(mutex_);
  return {static_cast<int>(running_.size()), static_cast<int>(waiting_.size())};
}

void Executor::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_arrived_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Job job = std::move(waiting_.front());
    waiting_.pop_front();
    const auto running = running_.insert(running_.end(), job.stop);
    lock.unlock();
    job.run(Admission(job));
    const int64_t bytes = job.bytes;
    job = Job();
    lock.lock();
    bytes_ -= bytes;
    running_.erase(running);
  }
}

absl::Status Executor::Admission(const Job& job) const {
  if (job.stop.stop_requested()) return absl::CancelledError("cancelled while waiting for other requests");
  if (job.deadline.has_value() && options_.now() >= *job.deadline) {
    return absl::DeadlineExceededError("the deadline passed while waiting for other requests");
  }
  return absl::OkStatus();
}

absl::Status Executor::Room(const Job& job) const {
  const std::string load = absl::StrCat(running_.size(), " requests run and ", waiting_.size(), " wait");
  const auto capacity = static_cast<std::size_t>(options_.max_running) + static_cast<std::size_t>(options_.max_waiting);
  if (running_.size() + waiting_.size() >= capacity) {
    return absl::ResourceExhaustedError(absl::StrCat("the server is full: ", load, " (--max_running, --max_waiting)"));
  }
  const bool is_alone = running_.empty() && waiting_.empty();
  if (!is_alone && job.bytes > options_.max_bytes - bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat("the server is full: ", load, " and hold ", bytes_,
                                                     " bytes, this one has ", job.bytes, ", together they may have ",
                                                     options_.max_bytes, " (--memory_budget)"));
  }
  return absl::OkStatus();
}

std::vector<Executor::Job> Executor::TakeAbandoned() {
  const auto first_gone =
      std::stable_partition(waiting_.begin(), waiting_.end(), [this](const Job& job) { return Admission(job).ok(); });
  std::vector<Job> abandoned(std::make_move_iterator(first_gone), std::make_move_iterator(waiting_.end()));
  waiting_.erase(first_gone, waiting_.end());
  for (const Job& job : abandoned) bytes_ -= job.bytes;
  return abandoned;
}

}  // namespace planwright::server
