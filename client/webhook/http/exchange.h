// One request and the answer that it waits for.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_HTTP_EXCHANGE_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_HTTP_EXCHANGE_H_

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace planwright::webhook {

struct HttpAnswer {
  int code = 200;
  // JSON where the code is 200, else a sentence.
  std::string body;
};

// Shared by the connection that waits and by whoever works on the answer. The first answer counts. Thread-safe.
class Exchange {
 public:
  using Clock = std::chrono::steady_clock;

  // `answered` is called once, on the thread of the answer, when there is one.
  Exchange(std::string target, std::string body, Clock::time_point answer_by, std::function<void()> answered)
      : target_(std::move(target)), body_(std::move(body)), answer_by_(answer_by), answered_(std::move(answered)) {}

  // The path: "/mutate".
  const std::string& target() const { return target_; }
  const std::string& body() const { return body_; }
  // When the connection stops waiting and takes the fallback.
  Clock::time_point answer_by() const { return answer_by_; }

  void Reply(HttpAnswer answer) {
    const std::lock_guard lock(mutex_);
    if (answer_.has_value() || is_over_) return;
    answer_ = std::move(answer);
    answered_();
  }

  // What is answered where Reply comes too late.
  void SetFallback(HttpAnswer fallback) {
    const std::lock_guard lock(mutex_);
    fallback_ = std::move(fallback);
  }

  // Ends the exchange: the answer, else the fallback, else 503. `answered` is not called any more.
  HttpAnswer Take() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    if (!answer_.has_value()) return std::exchange(fallback_, {503, "not judged in time"});
    HttpAnswer answer = *std::move(answer_);
    answer_.reset();
    return answer;
  }

 private:
  const std::string target_;
  const std::string body_;
  const Clock::time_point answer_by_;
  const std::function<void()> answered_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::optional<HttpAnswer> answer_;
  HttpAnswer fallback_{503, "not judged in time"};
  bool is_over_ = false;
};

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_HTTP_EXCHANGE_H_
