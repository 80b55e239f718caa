#include "server/serving/operations/operation_runner.h"

#include <algorithm>
#include <utility>

namespace planwright::server {
namespace {

// Waits, at most until `stop`.
void PauseUntil(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  never.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace

void OperationJob::Save(std::string incumbent, std::string progress) {
  const std::lock_guard lock(mutex_);
  unsaved_ = Incumbent{std::move(incumbent), std::move(progress)};
}

bool OperationJob::Pause(std::chrono::milliseconds time) const {
  PauseUntil(time, stop());
  return !stop().stop_requested();
}

OperationRunner::OperationRunner(Store& store, Options options, Hooks hooks)
    : store_(store), options_(std::move(options)), hooks_(std::move(hooks)) {
  shares_.SetTenants(options_.tenants);
  keeper_ = std::jthread([this](const std::stop_token& stop) { KeepLeases(stop); });
  for (int i = 0; i < options_.max_running; ++i) {
    workers_.emplace_back([this](const std::stop_token& stop) { Work(stop); });
  }
}

OperationRunner::~OperationRunner() { Stop(); }

void OperationRunner::SetTenants(TenantTable tenants) {
  const std::lock_guard lock(mutex_);
  shares_.SetTenants(std::move(tenants));
}

void OperationRunner::Wake() {
  {
    const std::lock_guard lock(mutex_);
    ++submissions_;
  }
  wake_.notify_one();
}

void OperationRunner::Stop() {
  for (std::jthread& worker : workers_) worker.request_stop();
  std::vector<JobPtr> running;
  {
    const std::lock_guard lock(mutex_);
    running.assign(running_.begin(), running_.end());
  }
  for (const JobPtr& job : running) job->stop_.request_stop();
  workers_.clear();
  keeper_ = std::jthread();
}

int OperationRunner::running() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(running_.size());
}

void OperationRunner::Work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    int64_t seen = 0;
    {
      const std::lock_guard lock(mutex_);
      seen = submissions_;
    }
    Clock::time_point start;
    if (std::optional<Operation> taken = Take(start, stop)) {
      const std::string tenant = taken->tenant;
      Run(std::make_shared<OperationJob>(*std::move(taken)), stop);
      const std::lock_guard lock(mutex_);
      shares_.Finish(tenant, start, options_.now());
      continue;
    }
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, stop, options_.idle_poll, [&] { return submissions_ != seen; });
  }
}

std::optional<Operation> OperationRunner::Take(Clock::time_point& start, const std::stop_token& stop) {
  const std::lock_guard taking(taking_);
  const auto in_turn = [this, &stop](const std::vector<std::string>& tenants) {
    // What other workers have returned meanwhile is for other servers.
    if (stop.stop_requested()) return std::vector<std::string>();
    const std::lock_guard lock(mutex_);
    shares_.SetAllWaiting(tenants, options_.now());
    return shares_.InTurn(options_.now());
  };
  absl::StatusOr<std::optional<Operation>> taken = store_.TakeOperation(options_.lease, in_turn);
  if (!taken.ok()) return std::nullopt;
  std::optional<Operation> operation = *std::move(taken);
  if (!operation.has_value()) return std::nullopt;
  start = options_.now();
  const std::lock_guard lock(mutex_);
  shares_.Start(operation->tenant, start);
  return operation;
}

void OperationRunner::Run(const JobPtr& job, const std::stop_token& stop) {
  const Operation& operation = job->operation();
  job->is_cancelled_ = operation.cancel_requested;
  if (operation.cancel_requested) job->stop_.request_stop();
  std::list<JobPtr>::iterator place;
  {
    const std::lock_guard lock(mutex_);
    place = running_.insert(running_.end(), job);
  }
  // Stop may have looked for running jobs just before.
  if (stop.stop_requested()) job->stop_.request_stop();
  const bool too_often = operation.attempts > options_.max_attempts;
  const OperationEnd end = too_often ? hooks_.give_up(operation) : hooks_.work(*job);
  // Before the job is told to stop with the server.
  const bool gave_up = end.state == OperationState::kCancelled && !job->stop().stop_requested();
  Conclude(*job, end, stop);
  {
    const std::lock_guard lock(mutex_);
    running_.erase(place);
  }
  // Somebody with a better store may take it; at once it would be this worker again.
  if (gave_up) PauseUntil(options_.idle_poll, stop);
}

void OperationRunner::Conclude(OperationJob& job, const OperationEnd& end, const std::stop_token& stop) {
  const Operation& operation = job.operation();
  while (true) {
    bool is_cut_off = false;
    {
      const std::lock_guard lock(job.mutex_);
      if (job.is_lost_) return Report(operation, "lost", absl::AbortedError("somebody else has it"));
      // The server ends, nobody has cancelled: somebody else goes on.
      is_cut_off = end.state == OperationState::kCancelled && !job.is_cancelled_;
    }
    if (is_cut_off) SaveUnsaved(job);
    const absl::Status told = is_cut_off ? store_.ReturnOperation(operation.id, operation.fence)
                                         : store_.EndOperation(operation.id, operation.fence, end);
    if (told.ok()) return Report(operation, is_cut_off ? "returned" : "ended");
    if (told.code() != absl::StatusCode::kUnavailable) return Report(operation, "lost", told);
    // Its lease runs out, and whoever takes it over begins with what was saved.
    if (stop.stop_requested()) return Report(operation, "lost", told);
    PauseUntil(options_.save_interval, stop);
  }
}

void OperationRunner::KeepLeases(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    PauseUntil(options_.save_interval, stop);
    std::vector<JobPtr> jobs;
    {
      const std::lock_guard lock(mutex_);
      jobs.assign(running_.begin(), running_.end());
    }
    for (const JobPtr& job : jobs) Attend(*job);
  }
}

void OperationRunner::Attend(OperationJob& job) {
  SaveUnsaved(job);
  const Operation& operation = job.operation();
  {
    const std::lock_guard lock(job.mutex_);
    if (job.is_lost_) return;
  }
  const absl::StatusOr<bool> is_cancelled = store_.RenewLease(operation.id, operation.fence, options_.lease);
  if (is_cancelled.status().code() == absl::StatusCode::kAborted) return Lose(job);
  if (!is_cancelled.value_or(false)) return;
  {
    const std::lock_guard lock(job.mutex_);
    job.is_cancelled_ = true;
  }
  job.stop_.request_stop();
}

void OperationRunner::SaveUnsaved(OperationJob& job) {
  const std::lock_guard saving(job.saving_);
  std::optional<OperationJob::Incumbent> unsaved;
  {
    const std::lock_guard lock(job.mutex_);
    unsaved = std::exchange(job.unsaved_, std::nullopt);
  }
  if (!unsaved.has_value()) return;
  const Operation& operation = job.operation();
  const absl::Status saved = store_.SaveIncumbent(operation.id, operation.fence, unsaved->bytes, unsaved->progress);
  if (saved.ok()) return;
  if (saved.code() == absl::StatusCode::kAborted) return Lose(job);
  const std::lock_guard lock(job.mutex_);
  // Next time, unless there is a better one by now.
  if (!job.unsaved_.has_value()) job.unsaved_ = std::move(unsaved);
}

void OperationRunner::Lose(OperationJob& job) {
  {
    const std::lock_guard lock(job.mutex_);
    // Its own worker may have ended it just now.
    if (std::exchange(job.is_lost_, true)) return;
  }
  job.stop_.request_stop();
}

void OperationRunner::Report(const Operation& operation, const char* event, const absl::Status& why) const {
  if (hooks_.on_event) hooks_.on_event(operation, event, why);
}

}  // namespace planwright::server
