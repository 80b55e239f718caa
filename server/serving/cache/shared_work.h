// One search for all who ask for the same at the same time.
#ifndef PLANWRIGHT_SERVER_SERVING_CACHE_SHARED_WORK_H_
#define PLANWRIGHT_SERVER_SERVING_CACHE_SHARED_WORK_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace planwright::server {

// Brings callers with the same key together: the work is done once, and all get its result. A caller that leaves does
// not disturb the others; when the last one has left, the work is told to stop. Thread-safe.
//
// Callers of one group wait in one line for the work to begin; those of other groups have a line of their own, so that
// nobody waits for what others have queued before. The first caller of each group gets a turn, which it is to queue;
// the turn that comes first begins the work, and the others are told to stop. A turn that is refused, because of the
// limits of its group or otherwise, is an answer for its group only.
//
// Invariants: (1) work is begun once, as the caller that began the piece described it, whether that stays or not;
// (2) every caller of a piece is told its result exactly once, unless it has left; (3) no lock is held while callers
// are told their result, and none but the listener's own while it is told of an event.
//
// Result is copied once for each piece; Listener is told of events on the way; Work describes what is to be done.
template <typename Result, typename Listener, typename Work>
class SharedWork {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Event = std::function<void(Listener&)>;

  // One caller.
  struct Waiter {
    // Told the result, on the thread that completes the work; must not call Join, Leave, Refuse or Complete.
    std::function<void(const Result&)> on_result;
    // nullptr: not told of events. Outlives the caller's stay; must not call Join, Leave, Refuse or Complete either.
    // Told by Join, on its thread, of events before it came that are kept.
    Listener* listener = nullptr;
  };

  // What one group waits for. Shared by its callers and whoever has it queued.
  struct Turn {
    // Requested when the group's callers have all left, or when the turn of another group began the work.
    std::stop_source stop;
    // Guarded by the piece's mutex.
    int callers = 0;
  };
  using TurnPtr = std::shared_ptr<Turn>;

  // One piece of work. Shared by its callers, those who have turns queued, and the table.
  class Piece {
   public:
    // Requested when nobody waits any more, and by whoever else wants the work to end.
    std::stop_source& stop() { return stop_; }

    // The work, for the turn that comes first; nullptr: it has been begun, or nobody waits for the turn any more.
    std::shared_ptr<Work> Begin(const TurnPtr& turn) {
      std::map<std::string, TurnPtr> others;
      std::shared_ptr<Work> work;
      {
        const std::lock_guard lock(mutex_);
        const auto is_it = [&turn](const auto& entry) { return entry.second == turn; };
        if (turn != nullptr && std::none_of(turns_.begin(), turns_.end(), is_it)) return nullptr;
        work = std::move(work_);
        others.swap(turns_);
      }
      for (const auto& [group, other] : others) {
        if (other != turn) other->stop.request_stop();
      }
      return work;
    }

    // Tells every caller that listens.
    void Publish(const Event& event) { TellAll(event, std::nullopt); }

    // Those who come later are told the last event of each kind too, in the order of the kinds. The event owns what it
    // tells.
    void PublishAndKeep(int kind, const Event& event) { TellAll(event, kind); }

   private:
    friend class SharedWork;

    struct Place {
      std::function<void(const Result&)> on_result;
      // nullptr: the work had begun when the caller came.
      TurnPtr turn;
      std::mutex mutex;
      // Guarded by mutex, which is held while it is told of an event. nullptr: it is not there, or not any more.
      Listener* listener = nullptr;

      // Waits for the event that it is being told.
      void Retire() {
        const std::lock_guard lock(mutex);
        listener = nullptr;
      }
    };

    // Holds back what is published for a caller that has just come until it has been told what was kept.
    struct News {
      std::shared_ptr<Place> place;
      std::unique_lock<std::mutex> lock;
      std::map<int, Event> kept;

      void Tell() {
        for (const auto& [kind, event] : kept) event(*place->listener);
      }
    };
    using Places = std::map<uint64_t, std::shared_ptr<Place>>;

    Piece(std::string key, TimePoint answer_by, std::shared_ptr<Work> work)
        : key_(std::move(key)), answer_by_(answer_by), work_(std::move(work)) {}

    void TellAll(const Event& event, std::optional<int> kept_as) {
      std::vector<std::shared_ptr<Place>> places;
      {
        const std::lock_guard lock(mutex_);
        if (kept_as.has_value()) kept_[*kept_as] = event;
        for (const auto& [number, place] : places_) places.push_back(place);
      }
      for (const std::shared_ptr<Place>& place : places) {
        const std::lock_guard lock(place->mutex);
        if (place->listener != nullptr) event(*place->listener);
      }
    }

    // Takes `place` out of its turn; the turn if nobody else waits for it and the work has not begun, else nullptr.
    // REQUIRES: mutex_ is held.
    TurnPtr LeaveTurn(const Place& place) {
      if (place.turn == nullptr || --place.turn->callers > 0) return nullptr;
      const auto is_its = [&place](const auto& entry) { return entry.second == place.turn; };
      return std::erase_if(turns_, is_its) == 0 ? nullptr : place.turn;
    }

    const std::string key_;
    // When the result is there at the latest.
    const TimePoint answer_by_;
    std::stop_source stop_;
    std::mutex mutex_;
    // Guarded by mutex_.
    Places places_;
    uint64_t arrivals_ = 0;
    // The last event of each kind that is kept.
    std::map<int, Event> kept_;
    // nullptr: it has begun, or will not begin any more.
    std::shared_ptr<Work> work_;
    // By group, until the work begins.
    std::map<std::string, TurnPtr> turns_;
    bool is_over_ = false;
  };

  // What a caller has of a piece of work.
  struct Share {
    std::shared_ptr<Piece> piece;
    uint64_t number = 0;
    // The caller has opened the piece, so the work is done as it describes it.
    bool leads = false;
    // To be queued by the caller: to begin the work when it comes (Piece::Begin), or to be refused (Refuse). nullptr:
    // the work has begun, or somebody else of the group has done so.
    TurnPtr turn = nullptr;
  };

  struct Request {
    std::string key;
    std::string group;
    // When the result of a piece that this caller opens is there at the latest.
    TimePoint answer_by;
    // Work of others that may take longer is not waited for.
    TimePoint patience;
  };

  // Joins the piece of work of the key, unless that may take longer than the caller's patience, else opens one for
  // `work`; later callers join the one that was opened last.
  Share Join(const Request& request, std::shared_ptr<Work> work, Waiter waiter) {
    typename Piece::News news;
    const Share share = TakePlace(request, std::move(work), waiter, news);
    news.Tell();
    return share;
  }

  // The caller leaves. False: the result is being told or has been. Waits for the event that the caller is being told.
  bool Leave(const Share& share) {
    Piece& piece = *share.piece;
    std::shared_ptr<typename Piece::Place> place;
    TurnPtr turn;
    std::shared_ptr<Work> work;
    bool was_last = false;
    {
      const std::lock_guard lock(piece.mutex_);
      const auto found = piece.places_.find(share.number);
      if (found == piece.places_.end()) return false;
      place = std::move(found->second);
      piece.places_.erase(found);
      turn = piece.LeaveTurn(*place);
      was_last = piece.places_.empty();
      // Nobody shall join work that ends without a result.
      if (was_last) piece.is_over_ = true;
      if (was_last) work = std::move(piece.work_);
    }
    place->Retire();
    if (turn != nullptr) turn->stop.request_stop();
    if (was_last) {
      Forget(piece);
      piece.stop_.request_stop();
    }
    return true;
  }

  // Tells work that has begun to stop where nobody but the caller waits for it, who gets what it ends with; nobody
  // joins it from then on. False: nothing has happened.
  bool StopFor(const Share& share) {
    Piece& piece = *share.piece;
    {
      const std::lock_guard lock(piece.mutex_);
      const bool has_begun = piece.work_ == nullptr && !piece.is_over_;
      if (!has_begun || piece.places_.size() != 1 || !piece.places_.contains(share.number)) return false;
      piece.is_over_ = true;
    }
    Forget(piece);
    piece.stop_.request_stop();
    return true;
  }

  // `turn` will not come: its group is told so. Nothing happens when the work has begun.
  void Refuse(const std::shared_ptr<Piece>& piece, const TurnPtr& turn, const Result& result) {
    typename Piece::Places told;
    std::shared_ptr<Work> work;
    bool was_last = false;
    {
      const std::lock_guard lock(piece->mutex_);
      if (std::erase_if(piece->turns_, [&turn](const auto& entry) { return entry.second == turn; }) == 0) return;
      for (auto place = piece->places_.begin(); place != piece->places_.end();) {
        const auto next = std::next(place);
        if (place->second->turn == turn) told.insert(piece->places_.extract(place));
        place = next;
      }
      was_last = piece->places_.empty();
      if (was_last) piece->is_over_ = true;
      if (was_last) work = std::move(piece->work_);
    }
    if (was_last) Forget(*piece);
    Tell(told, result);
  }

  // Ends the piece of work: tells everybody who still waits.
  void Complete(const std::shared_ptr<Piece>& piece, const Result& result) {
    Forget(*piece);
    typename Piece::Places told;
    {
      const std::lock_guard lock(piece->mutex_);
      piece->is_over_ = true;
      told.swap(piece->places_);
    }
    piece->Begin(nullptr);
    Tell(told, result);
  }

  // Works that others can join.
  std::size_t open() const {
    const std::lock_guard lock(mutex_);
    return pieces_.size();
  }

 private:
  // Join, but for what the caller is yet to be told.
  Share TakePlace(const Request& request, std::shared_ptr<Work> work, Waiter& waiter, typename Piece::News& news) {
    const std::lock_guard lock(mutex_);
    const auto found = pieces_.find(request.key);
    if (found != pieces_.end() && found->second->answer_by_ <= request.patience) {
      Share share{.piece = found->second};
      if (AddCaller(share, request.group, waiter, news)) return share;
    }
    Share share{.piece = std::shared_ptr<Piece>(new Piece(request.key, request.answer_by, std::move(work))),
                .leads = true};
    AddCaller(share, request.group, waiter, news);
    pieces_[request.key] = share.piece;
    return share;
  }

  // False: the piece is over. REQUIRES: mutex_ is held.
  static bool AddCaller(Share& share, const std::string& group, Waiter& waiter, typename Piece::News& news) {
    Piece& piece = *share.piece;
    const std::lock_guard lock(piece.mutex_);
    if (piece.is_over_) return false;
    auto place = std::make_shared<typename Piece::Place>();
    place->on_result = std::move(waiter.on_result);
    place->listener = waiter.listener;
    if (piece.work_ != nullptr) {
      TurnPtr& turn = piece.turns_[group];
      if (turn == nullptr) turn = share.turn = std::make_shared<Turn>();
      ++turn->callers;
      place->turn = turn;
    }
    if (place->listener != nullptr) news = {place, std::unique_lock(place->mutex), piece.kept_};
    share.number = ++piece.arrivals_;
    piece.places_.emplace(share.number, std::move(place));
    return true;
  }

  static void Tell(const typename Piece::Places& places, const Result& result) {
    for (const auto& [number, place] : places) {
      place->Retire();
      place->on_result(result);
    }
  }

  // Takes the piece out of the table, unless another one has its place.
  void Forget(const Piece& piece) {
    const std::lock_guard lock(mutex_);
    const auto found = pieces_.find(piece.key_);
    if (found != pieces_.end() && found->second.get() == &piece) pieces_.erase(found);
  }

  mutable std::mutex mutex_;
  // Guarded by mutex_. A piece's own mutex is taken inside, never the other way round.
  std::unordered_map<std::string, std::shared_ptr<Piece>> pieces_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_CACHE_SHARED_WORK_H_
