#include "server/serving/admission/unanswered_calls.h"

namespace planwright::server {

void UnansweredCalls::Enter() {
  const std::lock_guard lock(mutex_);
  ++count_;
}

void UnansweredCalls::Leave() {
  // Notified under the lock: the waiter may destroy this object as soon as it sees 0.
  const std::lock_guard lock(mutex_);
  if (--count_ == 0) none_.notify_all();
}

bool UnansweredCalls::WaitUntilNone(std::chrono::nanoseconds timeout) {
  std::unique_lock lock(mutex_);
  return none_.wait_for(lock, timeout, [this] { return count_ == 0; });
}

}  // namespace planwright::server
