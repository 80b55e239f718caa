// One search for all who ask for the same at the same time.
#ifndef PLANWRIGHT_SERVER_SERVING_SINGLE_FLIGHT_H_
#define PLANWRIGHT_SERVER_SERVING_SINGLE_FLIGHT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <utility>

namespace planwright::server {

// Brings callers with the same key together: the first one leads and does the work, the others wait for its result. A
// caller that leaves does not disturb the others; when the last one has left, the work is told to stop. Thread-safe.
//
// Invariants: (1) a flight has one leader, the caller that opened it, whether that stays or not; (2) every caller of a
// flight is told its result exactly once, unless it has left; (3) no lock of the table is held while callers are told.
//
// Result is copied once for each flight; Listener is told of events on the way.
template <typename Result, typename Listener>
class SingleFlight {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // One caller.
  struct Waiter {
    // Told the result, on the thread that completes the flight; must not call Join, Leave or Complete.
    std::function<void(const Result&)> on_result;
    // nullptr: not told of events. Outlives the caller's stay.
    Listener* listener = nullptr;
  };

  // One piece of work. Shared by its leader, its callers and the table.
  class Flight {
   public:
    // Requested when nobody waits any more, and by whoever else wants the work to end.
    std::stop_source& stop() { return stop_; }

    // Tells every caller that listens.
    void Publish(const std::function<void(Listener&)>& event) {
      const std::lock_guard lock(mutex_);
      for (const auto& [number, waiter] : waiters_) {
        if (waiter.listener != nullptr) event(*waiter.listener);
      }
    }

   private:
    friend class SingleFlight;

    Flight(std::string key, TimePoint answer_by) : key_(std::move(key)), answer_by_(answer_by) {}

    const std::string key_;
    // When the result is there at the latest.
    const TimePoint answer_by_;
    std::stop_source stop_;
    std::mutex mutex_;
    // Guarded by mutex_.
    std::map<uint64_t, Waiter> waiters_;
    uint64_t arrivals_ = 0;
    bool is_over_ = false;
  };

  // A caller's place in a flight.
  struct Seat {
    std::shared_ptr<Flight> flight;
    uint64_t number = 0;
    // The caller must do the work and complete the flight.
    bool leads = false;
  };

  // Joins the flight of `key` unless that may take longer than `patience`, else opens one, which takes no longer than
  // `answer_by`; later callers join the one that was opened last.
  Seat Join(const std::string& key, TimePoint answer_by, TimePoint patience, Waiter waiter) {
    const std::lock_guard lock(mutex_);
    const auto found = flights_.find(key);
    if (found != flights_.end() && found->second->answer_by_ <= patience) {
      Seat seat{found->second};
      if (TakeSeat(seat, waiter)) return seat;
    }
    Seat seat{.flight = std::shared_ptr<Flight>(new Flight(key, answer_by)), .leads = true};
    TakeSeat(seat, waiter);
    flights_[key] = seat.flight;
    return seat;
  }

  // Gives the seat up. False: the result is being told or has been.
  bool Leave(const Seat& seat) {
    bool was_last = false;
    {
      const std::lock_guard lock(seat.flight->mutex_);
      if (seat.flight->waiters_.erase(seat.number) == 0) return false;
      was_last = seat.flight->waiters_.empty();
      // Nobody shall join work that ends without a result.
      if (was_last) seat.flight->is_over_ = true;
    }
    if (was_last) {
      Forget(*seat.flight);
      seat.flight->stop_.request_stop();
    }
    return true;
  }

  // Ends the flight: tells everybody who still waits. To be called once, by the leader.
  void Complete(const std::shared_ptr<Flight>& flight, const Result& result) {
    Forget(*flight);
    std::map<uint64_t, Waiter> told;
    {
      const std::lock_guard lock(flight->mutex_);
      flight->is_over_ = true;
      told.swap(flight->waiters_);
    }
    for (const auto& [number, waiter] : told) waiter.on_result(result);
  }

  // Flights that others can join.
  std::size_t open() const {
    const std::lock_guard lock(mutex_);
    return flights_.size();
  }

 private:
  // False: the flight is over. REQUIRES: mutex_ is held.
  static bool TakeSeat(Seat& seat, Waiter& waiter) {
    const std::lock_guard lock(seat.flight->mutex_);
    if (seat.flight->is_over_) return false;
    seat.number = ++seat.flight->arrivals_;
    seat.flight->waiters_.emplace(seat.number, std::move(waiter));
    return true;
  }

  // Takes the flight out of the table, unless another one has its place.
  void Forget(const Flight& flight) {
    const std::lock_guard lock(mutex_);
    const auto found = flights_.find(flight.key_);
    if (found != flights_.end() && found->second.get() == &flight) flights_.erase(found);
  }

  mutable std::mutex mutex_;
  // Guarded by mutex_. A flight's own mutex is taken inside, never the other way round.
  std::unordered_map<std::string, std::shared_ptr<Flight>> flights_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_SINGLE_FLIGHT_H_
