// What of a share of the memory is in use.
#ifndef PLANWRIGHT_SERVER_SERVING_ADMISSION_MEMORY_ACCOUNT_H_
#define PLANWRIGHT_SERVER_SERVING_ADMISSION_MEMORY_ACCOUNT_H_

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace planwright::server {

// Bounds what its holders have together, apart from the largest of them: one that needs more than the share has its
// turn, and does not keep those out that need little. Thread-safe; outlives its holds.
class MemoryAccount {
 public:
  struct Options {
    // What all holds but the largest may have together.
    int64_t max_bytes = 0;
    // What any hold may have. >= max_bytes.
    int64_t max_hold = 0;
    // What an error calls those that hold them, e.g. "requests that are read".
    std::string holders;
  };

  // Bytes that are held until it ends.
  class Hold {
   public:
    explicit Hold(MemoryAccount& account) : account_(account) {}
    ~Hold() { Clear(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

    // Adds to it. Errors: RESOURCE_EXHAUSTED, it would have more than max_hold; the same with a RetryInfo
    // (RetryDelayOf), the others leave no room, which never happens to a hold that is alone. O(log holds).
    absl::Status Add(int64_t bytes);
    void Clear();

    const MemoryAccount& account() const { return account_; }

   private:
    MemoryAccount& account_;
    // Guarded by the account's mutex.
    int64_t bytes_ = 0;
  };

  explicit MemoryAccount(Options options) : options_(std::move(options)) {}

  int64_t max_hold() const { return options_.max_hold; }
  int64_t bytes() const;

 private:
  // Puts `to` in the place of a hold of `from` bytes; those of 0 are not kept. REQUIRES: mutex_ is held.
  void Replace(int64_t from, int64_t to);

  const Options options_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  int64_t bytes_ = 0;
  std::multiset<int64_t> holds_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_ADMISSION_MEMORY_ACCOUNT_H_
