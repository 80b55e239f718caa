// Things that are to be done a little later.
#ifndef PLANWRIGHT_SERVER_SERVING_OPERATIONS_DELAYED_CALLS_H_
#define PLANWRIGHT_SERVER_SERVING_OPERATIONS_DELAYED_CALLS_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

namespace planwright::server {

// One thread that makes calls when their time has come. Thread-safe.
class DelayedCalls {
 public:
  using Clock = std::chrono::steady_clock;

  DelayedCalls();
  // Drops what has not been called.
  ~DelayedCalls() = default;
  DelayedCalls(const DelayedCalls&) = delete;
  DelayedCalls& operator=(const DelayedCalls&) = delete;

  // Calls `call` after `delay`, on the object's thread; it must be quick, such as queueing a job.
  void After(std::chrono::milliseconds delay, std::function<void()> call);

  // Waits for a call that runs, and makes none from then on. Not at the same time as itself.
  void End();

 private:
  void Work(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by mutex_.
  std::multimap<Clock::time_point, std::function<void()>> calls_;
  // Last: uses the above.
  std::jthread worker_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_OPERATIONS_DELAYED_CALLS_H_
