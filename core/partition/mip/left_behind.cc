#include "core/partition/mip/left_behind.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/thread_cpu_time.h"

namespace planwright {
namespace {

constexpr std::size_t kMostLeftBehind = 4;
// What work has that was told to stop.
constexpr std::chrono::milliseconds kGrace{15};
// Between two looks at limits of which nobody tells.
constexpr std::chrono::hours kLook{1};

// What a thread and whoever waits for it share.
struct Progress {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool is_done = false;
  std::chrono::nanoseconds cpu_time{0};
  std::exception_ptr error;
};

void Run(const std::function<void()>& work, Progress& progress) {
  const std::chrono::nanoseconds start = ThreadCpuTime();
  std::exception_ptr error;
  try {
    work();
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard lock(progress.mutex);
  progress.error = error;
  progress.cpu_time = ThreadCpuTime() - start;
  progress.is_done = true;
  progress.changed.notify_all();
}

// Whether the work is done; false: it was told to stop, and did not.
bool WaitFor(const SolveLimits& limits, Progress& progress) {
  const auto is_done = [&progress] { return progress.is_done; };
  std::unique_lock lock(progress.mutex);
  while (!is_done() && !CheckInterruption(limits).has_value()) {
    progress.changed.wait_until(lock, limits.stop, std::min(limits.deadline, SolveLimits::Clock::now() + kLook),
                                is_done);
  }
  return progress.changed.wait_for(lock, kGrace, is_done);
}

class LeftBehind {
 public:
  LeftBehind() { entries_.reserve(kMostLeftBehind); }
  ~LeftBehind() {
    for (Entry& entry : entries_) entry.thread.join();
  }

  // Whether there is room for it.
  bool Take(std::thread& thread, const std::shared_ptr<Progress>& progress) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](Entry& entry) {
      const std::lock_guard its_lock(entry.progress->mutex);
      if (entry.progress->is_done) entry.thread.join();
      return entry.progress->is_done;
    });
    if (entries_.size() >= kMostLeftBehind) return false;
    entries_.push_back({std::move(thread), progress});
    return true;
  }

 private:
  struct Entry {
    std::thread thread;
    std::shared_ptr<Progress> progress;
  };

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

LeftBehind& AllLeftBehind() {
  static LeftBehind left_behind;
  return left_behind;
}

}  // namespace

bool RunOrLeaveBehind(const SolveLimits& limits, const std::function<void()>& work) {
  const auto progress = std::make_shared<Progress>();
  std::thread thread;
  try {
    thread = std::thread([work, progress] { Run(work, *progress); });
  } catch (const std::system_error&) {
    // There are too many threads.
    work();
    return true;
  }
  if (!WaitFor(limits, *progress) && AllLeftBehind().Take(thread, progress)) return false;
  thread.join();
  ChargeThread(progress->cpu_time);
  if (progress->error != nullptr) std::rethrow_exception(progress->error);
  return true;
}

}  // namespace planwright
