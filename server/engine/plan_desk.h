// Where calls get their plans: from the cache, from a search that is under way for somebody else, or by a search of
// their own.
#ifndef PLANWRIGHT_SERVER_ENGINE_PLAN_DESK_H_
#define PLANWRIGHT_SERVER_ENGINE_PLAN_DESK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "planwright/v1/plan.pb.h"
#include "server/engine/plan_task.h"
#include "server/engine/planning_engine.h"
#include "server/engine/search_observer.h"
#include "server/serving/executor.h"
#include "server/serving/single_flight.h"

namespace planwright::server {

// How a call came by its plan.
enum class PlanSource { kSearched, kShared, kCached };

// "searched", "shared", "cached".
const char* NameOf(PlanSource source);

// Thread-safe. No thread waits for another: searches run on one executor, everything else on the other, and calls that
// wait hold no thread.
//
// Calls for the same (the same shared key and the same limits) share a search: it goes on as long as one of them waits,
// and the others' deadlines are no earlier than that of the first. Who gets a plan that is not good enough for its own
// limits, because the search had less time, goes on from it.
class PlanDesk {
 public:
  // One call's wish for a plan.
  struct Order {
    PlanTask task;
    // observer: told of the search while it runs, whoever it is made for; not of its two ends.
    CallContext context;
    // Told of the search if this order is the one that it is made for; may be null.
    std::unique_ptr<SearchObserver> log;
    // Of the request.
    int64_t bytes = 0;
    // Told the end, once, on any thread: the plan, or why there is none. CANCELLED: context.stop was requested.
    std::function<void(absl::StatusOr<v1::Plan> plan, PlanSource source)> done;
  };

  // All of them outlive the desk's last order. `max_waiting_bytes`: of requests that wait for the searches of others.
  PlanDesk(PlanningEngine& engine, Executor& searching, Executor& serving, int64_t max_waiting_bytes)
      : engine_(engine), searching_(searching), serving_(serving), max_waiting_bytes_(max_waiting_bytes) {}

  // To be called on a thread that may compute.
  void Take(Order order);

  // Orders that were answered by the search of another one, since the start.
  int64_t shared() const { return shared_; }

 private:
  using FoundPlan = absl::StatusOr<std::shared_ptr<const CachedPlan>>;
  struct Result {
    FoundPlan plan;
    // PlanTask::key of the order that the search was made for: plans and errors speak of its devices.
    std::string key;
  };
  using Flights = SingleFlight<Result, SearchObserver>;

  // An order on its way.
  struct Errand {
    explicit Errand(Order taken) : order(std::move(taken)) {}

    Order order;
    // Held while the errand takes its seat; what follows is written under it.
    std::mutex mutex;
    bool leads = false;
    int64_t waiting_bytes = 0;
    // Gives the seat up.
    std::optional<std::stop_callback<std::function<void()>>> on_gone;
  };
  using ErrandPtr = std::shared_ptr<Errand>;

  void Serve(const ErrandPtr& errand);
  void TakeSeat(const ErrandPtr& errand, const std::string& flight_key);
  // Ends the errand without a result, unless that is on its way.
  void GiveUp(const std::weak_ptr<Errand>& errand, const Flights::Seat& seat, const absl::Status& why);
  absl::Status Launch(const ErrandPtr& errand, const std::shared_ptr<Flights::Flight>& flight);
  FoundPlan Search(Errand& errand, Flights::Flight& flight);
  // On a serving thread.
  void Deliver(const ErrandPtr& errand, const Result& result);
  // For those who did not search themselves: answers with what was found, or goes on from it.
  void Share(const ErrandPtr& errand, const Result& result);

  PlanningEngine& engine_;
  Executor& searching_;
  Executor& serving_;
  const int64_t max_waiting_bytes_;
  Flights flights_;
  std::atomic<int64_t> waiting_bytes_{0};
  std::atomic<int64_t> shared_{0};
  std::atomic<int64_t> alone_{0};
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_PLAN_DESK_H_
