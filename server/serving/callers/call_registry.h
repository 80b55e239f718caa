// The calls that have not been answered, for those who look after the server.
#ifndef PLANWRIGHT_SERVER_SERVING_CALLERS_CALL_REGISTRY_H_
#define PLANWRIGHT_SERVER_SERVING_CALLERS_CALL_REGISTRY_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace planwright::server {

// One of them. What is const is so from the start; the rest is thread-safe.
class LiveCall {
 public:
  using Clock = std::chrono::steady_clock;

  // Who calls what.
  struct Origin {
    std::string tenant;
    // By which name the caller is known; empty: nobody was asked.
    std::string caller;
    std::string method;
    std::string request_id;
    std::string peer;
  };

  LiveCall(Origin origin, std::stop_source stop) : origin_(std::move(origin)), stop_(std::move(stop)) {}

  const Origin& origin() const { return origin_; }
  Clock::time_point start() const { return start_; }
  // Whether a thread works on it, or did; otherwise it waits.
  bool is_running() const { return is_running_; }
  void SetRunning() { is_running_ = true; }
  // Whether an administrator has asked it to stop.
  bool is_ended() const { return is_ended_; }

 private:
  friend class CallRegistry;

  const Origin origin_;
  const Clock::time_point start_ = Clock::now();
  std::stop_source stop_;
  std::atomic<bool> is_running_{false};
  std::atomic<bool> is_ended_{false};
};

// Thread-safe.
class CallRegistry {
 public:
  // A call and its id: digits and letters, unique among all servers, so that no server ends the call of another one.
  struct Entry {
    std::string id;
    std::shared_ptr<const LiveCall> call;
  };

  // How many calls of a tenant there are.
  struct Count {
    int running = 0;
    int waiting = 0;
  };

  CallRegistry();

  // A place in the list; given up when destroyed.
  class Place {
   public:
    Place(CallRegistry& registry, uint64_t number, std::shared_ptr<LiveCall> call)
        : registry_(registry), number_(number), call_(std::move(call)) {}
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    const std::shared_ptr<LiveCall>& call() const { return call_; }

   private:
    CallRegistry& registry_;
    const uint64_t number_;
    const std::shared_ptr<LiveCall> call_;
  };

  // `stop`: how the call is asked to stop. The registry outlives the place.
  std::unique_ptr<Place> Add(LiveCall::Origin origin, std::stop_source stop);

  // The calls of `tenant`, or all where it is empty, the oldest first.
  std::vector<Entry> List(std::string_view tenant) const;
  std::map<std::string, Count> Counts() const;

  // Asks a call to stop; nullopt: there is none with this id (any more).
  std::optional<Entry> Cancel(std::string_view id);

 private:
  std::string IdOf(uint64_t number) const;

  // Tells the calls of this process from those of others.
  const std::string prefix_;
  mutable std::mutex mutex_;
  // Guarded by mutex_. By number, which is their order.
  std::map<uint64_t, std::shared_ptr<LiveCall>> calls_;
  uint64_t last_ = 0;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_CALLERS_CALL_REGISTRY_H_
