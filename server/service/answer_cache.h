// Answers in their encoded form, by the bytes of their requests.
//
// Clients that ask again mostly send the same bytes. Then nothing has to be parsed, named or encoded, whatever the size
// of the graph: the request is hashed and the answer's bytes are handed out. Everything else is found by its meaning
// (plan_cache.h).
#ifndef PLANWRIGHT_SERVER_SERVICE_ANSWER_CACHE_H_
#define PLANWRIGHT_SERVER_SERVICE_ANSWER_CACHE_H_

#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "server/serving/lru_cache.h"

namespace planwright::server {

// Thread-safe.
class AnswerCache {
 public:
  using Clock = std::chrono::steady_clock;

  struct Answer {
    grpc::ByteBuffer bytes;
    // Of the plan in it (plan_key.h).
    std::string plan_key;
    // Not to be given later: what the request refers to may have been deleted.
    Clock::time_point expires = Clock::time_point::max();
  };

  struct Stats {
    LruCache<Answer>::Usage usage;
    int64_t hits = 0;
  };

  // 0: keeps nothing.
  explicit AnswerCache(int64_t max_bytes) : answers_(max_bytes) {}

  // SHA-256 over tenant and bytes. Complexity O(size of the request), a millisecond for a megabyte.
  static std::string KeyOf(const std::string& tenant, const grpc::ByteBuffer& request);

  // nullptr: there is none.
  std::shared_ptr<const Answer> Find(const std::string& key);

  // REQUIRES: the answer is right for every request with these bytes, whatever the deadline.
  void Keep(const std::string& key, Answer answer);

  // Forgets all answers.
  void Clear() { answers_.Clear(); }

  Stats stats() const { return {.usage = answers_.usage(), .hits = hits_}; }

 private:
  LruCache<Answer> answers_;
  std::atomic<int64_t> hits_{0};
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_ANSWER_CACHE_H_
