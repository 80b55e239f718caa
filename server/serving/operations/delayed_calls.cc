#include "server/serving/operations/delayed_calls.h"

#include <utility>

namespace planwright::server {

DelayedCalls::DelayedCalls() : worker_([this](const std::stop_token& stop) { Work(stop); }) {}

void DelayedCalls::After(std::chrono::milliseconds delay, std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    calls_.emplace(Clock::now() + delay, std::move(call));
  }
  changed_.notify_one();
}

void DelayedCalls::End() {
  worker_.request_stop();
  if (worker_.joinable()) worker_.join();
}

void DelayedCalls::Work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (calls_.empty()) {
      changed_.wait(lock, stop, [this] { return !calls_.empty(); });
    } else if (const Clock::time_point next = calls_.begin()->first; Clock::now() < next) {
      changed_.wait_until(lock, stop, next, [this, next] { return calls_.begin()->first < next; });
    } else {
      const std::function<void()> call = std::move(calls_.begin()->second);
      calls_.erase(calls_.begin());
      lock.unlock();
      call();
      lock.lock();
    }
  }
}

}  // namespace planwright::server
