#include "client/webhook/http/rate_limit.h"

#include <algorithm>

namespace planwright::webhook {
namespace {

constexpr double kBurstSeconds = 2;
constexpr std::size_t kMaxAddresses = 10'000;

double SecondsBetween(RateLimit::Clock::time_point begin, RateLimit::Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

bool RateLimit::Admits(const std::string& address, Clock::time_point now) {
  if (per_second_ <= 0) return true;
  const std::lock_guard lock(mutex_);
  if (buckets_.size() >= kMaxAddresses) Forget(now);
  const double full = kBurstSeconds * per_second_;
  Bucket& bucket = buckets_.try_emplace(address, Bucket{full, now}).first->second;
  bucket.tokens = std::min(full, bucket.tokens + per_second_ * SecondsBetween(bucket.filled, now));
  bucket.filled = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

void RateLimit::Forget(Clock::time_point now) {
  std::erase_if(buckets_, [&](const auto& entry) { return SecondsBetween(entry.second.filled, now) > kBurstSeconds; });
}

}  // namespace planwright::webhook
