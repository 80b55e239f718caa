// How many calls are not yet answered to the last byte.
#ifndef PLANWRIGHT_SERVER_SERVING_ADMISSION_UNANSWERED_CALLS_H_
#define PLANWRIGHT_SERVER_SERVING_ADMISSION_UNANSWERED_CALLS_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace planwright::server {

// A count that can be waited on until it is 0: draining waits for calls of our own, because grpc::Server::Shutdown with
// a deadline also waits for idle connections and health watchers. Thread-safe.
class UnansweredCalls {
 public:
  void Enter();
  // REQUIRES: one Enter for each Leave.
  void Leave();

  // True: the count is 0 now. False: `timeout` has passed.
  bool WaitUntilNone(std::chrono::nanoseconds timeout);

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  int count_ = 0;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_ADMISSION_UNANSWERED_CALLS_H_
