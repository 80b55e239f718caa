// Answers in their encoded form, by the bytes of their requests.
//
// Clients that ask again mostly send the same bytes. Then nothing has to be parsed, named or encoded, whatever the size
// of the graph: the request is hashed and the answer's bytes are handed out. Everything else is found by its meaning
// (plan_cache.h).
//
// Nobody looks at a request that is answered from here, so whatever could make the answer wrong is part of the key (the
// tenant and the limits of models that hold) or of the answer (what is registered that the request names).
#ifndef PLANWRIGHT_SERVER_SERVICE_CALL_ANSWER_CACHE_H_
#define PLANWRIGHT_SERVER_SERVICE_CALL_ANSWER_CACHE_H_

#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/model/validator.h"
#include "server/serving/cache/lru_cache.h"

namespace planwright::server {

// Thread-safe.
class AnswerCache {
 public:
  using Clock = std::chrono::steady_clock;

  // How long an answer is given that refers to what is registered: another server may delete that.
  static constexpr std::chrono::seconds kShortLife{10};

  // What of the tenant's the request names: "graphs/{sha256}", "clusters/{sha256}".
  struct References {
    std::string tenant;
    std::vector<std::string> names;
  };

  struct Answer {
    grpc::ByteBuffer bytes;
    // The key of the plan in it (plan_key.h).
    std::string plan_key;
    References references = {};
    // When its request came: what was deleted since may have been used for it.
    Clock::time_point asked = Clock::now();
  };

  struct Stats {
    LruCache<Answer>::Usage usage;
    int64_t hits = 0;
  };

  // 0: keeps nothing.
  explicit AnswerCache(int64_t max_bytes) : answers_(max_bytes) {}

  // SHA-256 over tenant, limits and bytes: a request that the limits refuse has no answer under them. Complexity O(size
  // of the request), a millisecond for a megabyte.
  static std::string KeyOf(const std::string& tenant, const ModelLimits& limits, const grpc::ByteBuffer& request);

  // nullptr: there is none.
  std::shared_ptr<const Answer> Find(const std::string& key);

  // REQUIRES: the answer is right for every request with these bytes, whatever the deadline.
  void Keep(const std::string& key, Answer answer);

  // `name` of the tenant's was deleted just now: answers that refer to it are not given any more, nor those that are
  // being made. All others stay. Complexity O(1), O(deletions of the last kShortLife) once in that time.
  void Forget(const std::string& tenant, const std::string& name);

  Stats stats() const { return {.usage = answers_.usage(), .hits = hits_}; }

 private:
  // Whether something that the answer refers to has been deleted since it was asked for.
  bool IsOutdated(const Answer& answer) const;

  LruCache<Answer> answers_;
  std::atomic<int64_t> hits_{0};
  mutable std::mutex mutex_;
  // When what was deleted lately was deleted, by tenant and name. Guarded by mutex_, as what follows.
  std::map<std::pair<std::string, std::string>, Clock::time_point> deletions_;
  // When those that no answer lives long enough for are taken out again.
  Clock::time_point next_cleaning_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_CALL_ANSWER_CACHE_H_
