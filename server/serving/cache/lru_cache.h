// Answers that may be asked for again, up to a number of bytes.
#ifndef PLANWRIGHT_SERVER_SERVING_CACHE_LRU_CACHE_H_
#define PLANWRIGHT_SERVER_SERVING_CACHE_LRU_CACHE_H_

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace planwright::server {

// Keeps the values that were used last. Thread-safe; every operation takes O(1) apart from the hash of the key, and
// values are destroyed outside the lock.
//
// Invariants: (1) the entries hold at most max_bytes; (2) a value that somebody has found lives for as long as they
// hold it, evicted or not.
template <typename Value>
class LruCache {
 public:
  struct Usage {
    int64_t entries = 0;
    int64_t bytes = 0;
    // Entries that made room for others, since the start.
    int64_t evictions = 0;
  };

  // 0: keeps nothing.
  explicit LruCache(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // nullptr: there is none.
  std::shared_ptr<const Value> Find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->value;
  }

  // Takes the place of a value with the same key. `bytes` >= 0: what key and value hold; a value beyond the limit is
  // not kept.
  void Insert(const std::string& key, std::shared_ptr<const Value> value, int64_t bytes) {
    Entries removed;
    const std::lock_guard lock(mutex_);
    Remove(key, removed);
    if (bytes > max_bytes_) return;
    entries_.push_front({key, std::move(value), bytes});
    index_[key] = entries_.begin();
    usage_.bytes += bytes;
    while (usage_.bytes > max_bytes_) {
      Remove(entries_.back().key, removed);
      ++usage_.evictions;
    }
  }

  void Erase(const std::string& key) {
    Entries removed;
    const std::lock_guard lock(mutex_);
    Remove(key, removed);
  }

  Usage usage() const {
    const std::lock_guard lock(mutex_);
    Usage usage = usage_;
    usage.entries = static_cast<int64_t>(index_.size());
    return usage;
  }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Value> value;
    int64_t bytes = 0;
  };
  // Declared before the lock of a scope, so that the entries in it outlive the lock.
  using Entries = std::list<Entry>;

  // Moves the entry to `removed`, if there is one. REQUIRES: mutex_ is held.
  void Remove(const std::string& key, Entries& removed) {
    const auto found = index_.find(key);
    if (found == index_.end()) return;
    usage_.bytes -= found->second->bytes;
    removed.splice(removed.end(), entries_, found->second);
    index_.erase(found);
  }

  const int64_t max_bytes_;
  mutable std::mutex mutex_;
  // Guarded by mutex_. The entry used last stands first.
  Entries entries_;
  std::unordered_map<std::string, typename Entries::iterator> index_;
  Usage usage_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_CACHE_LRU_CACHE_H_
