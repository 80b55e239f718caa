// Leases that end further in the future than they can: the clock went back after they were given.
//
// Whoever has such a lease may live, and renew it, or be dead, and then nobody else got its work for as long as the
// clock was wrong. What tells the two apart does not need a clock that is right: a lease that nobody has touched for as
// long as it lasts, by this process's own count, is dead.
#ifndef PLANWRIGHT_SERVER_STORE_LEASE_WATCH_H_
#define PLANWRIGHT_SERVER_STORE_LEASE_WATCH_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "server/store/store.h"

namespace planwright::server {

// Thread-safe.
class LeaseWatch {
 public:
  using Clock = std::chrono::steady_clock;

  struct Lease {
    std::string id;
    int64_t fence = 0;
    StoreTime end = 0;

    bool operator==(const Lease&) const = default;
  };

  // `suspects`: all leases that end too late just now; others are forgotten. Returns those that have been the same
  // since before `now` - `lease`.
  std::vector<Lease> Dead(const std::vector<Lease>& suspects, std::chrono::milliseconds lease, Clock::time_point now);

 private:
  struct Sighting {
    Lease lease;
    Clock::time_point first_seen;
  };

  std::mutex mutex_;
  // Guarded by mutex_. By id.
  std::map<std::string, Sighting> sightings_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_LEASE_WATCH_H_
