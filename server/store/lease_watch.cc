#include "server/store/lease_watch.h"

#include <utility>

namespace planwright::server {

std::vector<LeaseWatch::Lease> LeaseWatch::Dead(const std::vector<Lease>& suspects, std::chrono::milliseconds lease,
                                                Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Sighting> seen;
  std::vector<Lease> dead;
  for (const Lease& suspect : suspects) {
    const auto before = sightings_.find(suspect.id);
    const bool is_same = before != sightings_.end() && before->second.lease == suspect;
    const Clock::time_point first_seen = is_same ? before->second.first_seen : now;
    seen.emplace(suspect.id, Sighting{suspect, first_seen});
    if (now - first_seen > lease) dead.push_back(suspect);
  }
  sightings_ = std::move(seen);
  return dead;
}

}  // namespace planwright::server
