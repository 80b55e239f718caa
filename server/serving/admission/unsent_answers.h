// Answers that are made and that their readers have not taken yet.
//
// An answer stays in memory for as long as its reader pleases, and a reader that takes nothing costs it nothing. So
// answers are counted from when they are made until they are sent, together they may hold a share of the memory, and
// each has a time within which its reader must take it. Where there is no room for another one, those go whose readers
// are slow: first those of the tenant that holds most, the slowest first. So nobody's unread answers shut others out
// for longer than kGrace, and a reader that reads loses nothing.
#ifndef PLANWRIGHT_SERVER_SERVING_ADMISSION_UNSENT_ANSWERS_H_
#define PLANWRIGHT_SERVER_SERVING_ADMISSION_UNSENT_ANSWERS_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace planwright::server {

// Thread-safe; outlives its holds.
class UnsentAnswers {
  struct Entry;
  using Entries = std::list<Entry>;
  struct Release {
    Entries::iterator entry;
    void operator()(UnsentAnswers* account) const;
  };

 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    // What all answers may take together; one that is alone may be larger.
    int64_t max_bytes = 0;
    // How long a reader may take nothing, and what it has besides for each MiB.
    std::chrono::nanoseconds send_timeout = std::chrono::minutes(1);
    // Replaced by tests.
    std::function<Clock::time_point()> now = &Clock::now;
  };

  // Ends a call whose answer cannot stay, with a status for its reader; any thread; must be quick. May be called when
  // the call has ended.
  using GiveUp = std::function<void(const absl::Status& why)>;

  // An answer, until it is sent or dropped; nullptr is none.
  using Hold = std::unique_ptr<UnsentAnswers, Release>;

  // What a call itself takes, so that many small answers are not free.
  static constexpr int64_t kBytesPerAnswer = 4 << 10;
  // Answers up to this are never refused: calls of operators and probes go on when there is no room.
  static constexpr int64_t kSmallAnswer = 16 << 10;
  // What a reader has at least, and besides for each MiB, before its answer makes room for others.
  static constexpr std::chrono::seconds kGrace{2};
  static constexpr std::chrono::seconds kGracePerMebibyte{1};

  explicit UnsentAnswers(Options options);
  UnsentAnswers(const UnsentAnswers&) = delete;
  UnsentAnswers& operator=(const UnsentAnswers&) = delete;

  // Counts an answer of `bytes`. Errors: RESOURCE_EXHAUSTED with a RetryInfo (RetryDelayOf), the others leave no room.
  absl::StatusOr<Hold> Take(const std::string& tenant, int64_t bytes, GiveUp give_up);

  // The reader of `hold` has taken something: its time begins anew.
  void Progress(const Hold& hold);

  // Ends the calls whose readers have taken nothing for too long. The object calls it itself, once a second.
  void EndOverdue();

  int64_t bytes() const;

 private:
  struct Entry {
    std::string tenant;
    int64_t bytes = 0;
    // Empty: it was called.
    GiveUp give_up;
    // When it was counted, and when its reader took something last.
    Clock::time_point start;
    Clock::time_point progress;
  };
  // A call that is to be ended.
  struct Ending {
    GiveUp give_up;
    absl::Status why;
  };

  void Work(const std::stop_token& stop);
  // Since when `entry` has been too slow to stay where there is no room. REQUIRES: mutex_ is held.
  static Clock::time_point SlowSince(const Entry& entry);
  // The slow answers that make room for `bytes`, in the order in which they go; none where they would not suffice.
  // REQUIRES: mutex_ is held.
  std::vector<Entries::iterator> Slowest(int64_t bytes, Clock::time_point now);
  // Counts the entry no more, and says how its call ends. REQUIRES: mutex_ is held.
  Ending End(Entry& entry, absl::Status why);
  // REQUIRES: mutex_ is held.
  void Count(const std::string& tenant, int64_t bytes);

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable_any arrived_;
  // Guarded by mutex_.
  Entries entries_;
  int64_t bytes_ = 0;
  // What the answers of each tenant take; tenants without any are not listed.
  std::map<std::string, int64_t> bytes_of_;
  // Last: uses the above.
  std::jthread worker_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_ADMISSION_UNSENT_ANSWERS_H_
