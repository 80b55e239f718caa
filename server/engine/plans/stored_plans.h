// Cached plans that outlive the process and that servers with one store share.
#ifndef PLANWRIGHT_SERVER_ENGINE_PLANS_STORED_PLANS_H_
#define PLANWRIGHT_SERVER_ENGINE_PLANS_STORED_PLANS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "planwright/v1/plan.pb.h"
#include "server/engine/plans/plan_reuse.h"
#include "server/store/store.h"

namespace planwright::server {

// What is stored of a plan: a message, in its task's shared form.
struct StoredPlan {
  v1::Plan plan;
  SearchEffort effort;
};

// Thread-safe; calls block on the database. A store that does not answer, or takes longer than it should, is left alone
// for a while: a cache must not slow down those who can do without. Whoever takes a plan out verifies it before use.
class StoredPlans {
 public:
  using Clock = std::chrono::steady_clock;

  // nullptr: nothing is stored. Outlives the object. `most_bytes`: as Store::PutAnswer takes it.
  explicit StoredPlans(Store* store, int64_t most_bytes = Store::Retention{}.answer_bytes)
      : store_(store), most_bytes_(most_bytes) {}

  // nullopt: there is none, or none that can be read; a damaged one is dropped.
  std::optional<StoredPlan> Find(const std::string& key);

  // Takes the place of what is stored under `key`.
  void Keep(const std::string& key, const StoredPlan& plan);

  // For a plan that is not what it says.
  void Drop(const std::string& key);

  // Whether the store is there, and has answered lately.
  bool MayAsk() const;

  // Plans that were found, and those that were damaged or wrong, since the start.
  int64_t found() const { return found_; }
  int64_t dropped() const { return dropped_; }

 private:
  // One call to the store, from its beginning to its end.
  class Question {
   public:
    explicit Question(StoredPlans& plans);
    ~Question();
    Question(const Question&) = delete;
    Question& operator=(const Question&) = delete;

   private:
    StoredPlans& plans_;
    std::multiset<Clock::time_point>::iterator place_;
  };

  // Notes that the store does not answer.
  void Note(const absl::Status& status);

  Store* store_;
  const int64_t most_bytes_;
  std::atomic<Clock::rep> ask_after_{0};
  mutable std::mutex mutex_;
  // When the questions began that have no answer yet. Guarded by mutex_.
  std::multiset<Clock::time_point> open_;
  std::atomic<int64_t> found_{0};
  std::atomic<int64_t> dropped_{0};
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_PLANS_STORED_PLANS_H_
