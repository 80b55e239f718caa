// How often an address may ask.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_HTTP_RATE_LIMIT_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_HTTP_RATE_LIMIT_H_

#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>

namespace planwright::webhook {

// A bucket for each address, which fills at the rate and holds two seconds of it. Thread-safe.
class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // Requests per second of one address; 0: any number.
  explicit RateLimit(double per_second) : per_second_(per_second) {}

  // Whether one more may be served at `now`, which then counts.
  bool Admits(const std::string& address, Clock::time_point now);

 private:
  struct Bucket {
    double tokens = 0;
    Clock::time_point filled;
  };

  // Forgets the addresses whose buckets are full.
  void Forget(Clock::time_point now);

  const double per_second_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_HTTP_RATE_LIMIT_H_
