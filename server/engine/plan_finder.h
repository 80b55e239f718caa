// Where calls and operations get their plans: from the cache, from a search that is under way for somebody else, here
// or on another server of the same store, or by a search of their own.
#ifndef PLANWRIGHT_SERVER_ENGINE_PLAN_FINDER_H_
#define PLANWRIGHT_SERVER_ENGINE_PLAN_FINDER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "planwright/v1/plan.pb.h"
#include "server/engine/planning_engine.h"
#include "server/engine/task/plan_task.h"
#include "server/engine/task/search_observer.h"
#include "server/serving/admission/executor.h"
#include "server/serving/cache/shared_work.h"
#include "server/serving/operations/claim_keeper.h"
#include "server/serving/operations/delayed_calls.h"

namespace planwright::server {

// How a call came by its plan.
enum class PlanSource { kSearched, kShared, kCached };

// "searched", "shared", "cached".
const char* NameOf(PlanSource source);

// Thread-safe. No thread waits for another: searches run on one executor, what blocks on the store on another, and the
// rest on a third; calls that wait hold no thread.
//
// Calls for the same (the same shared key and the same limits) share a search: it goes on as long as one of them waits,
// and the others' deadlines are no earlier than that of the first. Who gets a plan that is not good enough for its own
// limits, because the search had less time, goes on from it. Until the search begins, each tenant that wants it has a
// turn of its own queued for it, under its own limits, in the background apart from what somebody waits for; the one
// that comes first runs it. So nobody waits for what another tenant has queued, nor is refused for its limits.
//
// Servers with one store claim there what they search for. Who finds a search claimed that needs no more time than it
// has itself waits for the plan to be stored, and searches when the claim is free (the other server has died, or found
// nothing good enough) or when its own time is nearly over. Planning needs no store: without an answer from it within
// kStorePatience it searches.
class PlanFinder {
 public:
  // What one call or operation wants to have planned, and whom to tell.
  struct Order {
    PlanTask task;
    // observer: told of the search while it runs, whoever it is made for; not of its two ends.
    CallContext context;
    // Told of the search if this order is the one that it is made for; may be null.
    std::unique_ptr<SearchObserver> log;
    // What the task takes (EstimateMemory).
    int64_t bytes = 0;
    Priority priority = Priority::kInteractive;
    // The search is one of several of a call that has been admitted: it is not refused because the queue is full.
    bool has_place = false;
    // Where its own search runs; nullptr: where those of calls do. Outlives the order.
    Executor* searching = nullptr;
    // Where nobody else waits for the search, context.stop ends that, and the order gets what it has found.
    bool takes_what_is_found = false;
    // Searches of others that may end later are not waited for; nullopt: context.deadline.
    std::optional<Executor::Clock::time_point> patience = std::nullopt;
    // Told the end, once, on any thread: the plan, or why there is none. CANCELLED: context.stop was requested.
    std::function<void(absl::StatusOr<v1::Plan> plan, PlanSource source)> done;
  };

  // Where its work is done. All of them outlive the finder's last order.
  struct Places {
    PlanningEngine& engine;
    Executor& searching;
    Executor& serving;
    Executor& storing;
    // nullptr: no other server has our store.
    ClaimKeeper* claims = nullptr;
  };

  // When it goes, a finder does nothing more by itself later. Declared behind the executors of the finder, which the
  // finder itself outlives because their workers use it.
  class Ending {
   public:
    explicit Ending(PlanFinder& finder) : finder_(finder) {}
    ~Ending() { finder_.delays_.End(); }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;

   private:
    PlanFinder& finder_;
  };

  // How long a search waits to hear from the store whether there is a plan already.
  static constexpr std::chrono::milliseconds kStorePatience{250};

  // `max_waiting_bytes`: of requests that wait for the searches of others.
  PlanFinder(const Places& places, int64_t max_waiting_bytes)
      : engine_(places.engine),
        searching_(places.searching),
        serving_(places.serving),
        storing_(places.storing),
        claims_(places.claims),
        max_waiting_bytes_(max_waiting_bytes) {}

  // To be called on a thread that may compute.
  void Take(Order order);

  // What a server claims before it searches for the task: servers that search for the same for one tenant claim the
  // same. Of another tenant a search may be queued for long.
  static std::string ClaimKey(const PlanTask& task, const std::string& tenant);

  // Orders that were answered by the search of another one, since the start.
  int64_t shared() const { return shared_; }

 private:
  using FoundPlan = absl::StatusOr<std::shared_ptr<const CachedPlan>>;
  struct Result {
    FoundPlan plan;
    // PlanTask::key of the order that the search was made for: plans and errors speak of its devices.
    std::string key;
    // The search was another server's.
    bool is_fetched = false;
  };
  struct PendingOrder;
  // The work is the order that the search is made for.
  using Searches = SharedWork<Result, SearchObserver, PendingOrder>;

  // An order that has not been answered.
  struct PendingOrder {
    explicit PendingOrder(Order taken) : order(std::move(taken)) {}

    Order order;
    // Held while the order joins a search; what follows is written under it.
    std::mutex mutex;
    bool leads = false;
    int64_t waiting_bytes = 0;
    std::shared_ptr<ClaimKeeper::Claim> claim;
    // For orders with a turn: when it began, and how long it waits until it looks again for the plan of another server.
    Executor::Clock::time_point start = Executor::Clock::now();
    std::chrono::milliseconds pause{25};
    // Leaves the search.
    std::optional<std::stop_callback<std::function<void()>>> on_gone;
  };
  using PendingOrderPtr = std::shared_ptr<PendingOrder>;

  void Serve(const PendingOrderPtr& pending);
  // False: the order has not joined, because those who wait for others hold too much already.
  bool JoinSearch(const PendingOrderPtr& pending, const std::string& search_key);
  // Begins a search that no other order joins.
  void SearchAlone(const PendingOrderPtr& pending);
  // Ends the order without a result, unless that is on its way.
  void GiveUp(const std::weak_ptr<PendingOrder>& pending, const Searches::Share& share);
  // A turn on its way to the work, with the order that has it queued.
  struct QueuedTurn {
    std::shared_ptr<Searches::Piece> search;
    Searches::TurnPtr turn;
    PendingOrderPtr pending;
  };
  // Asks the store, where there is one, and then begins the search.
  void Begin(const QueuedTurn& queued);
  // A question to the store, which its answer settles or the end of the patience, whichever is first.
  class Question;
  void AskStore(const QueuedTurn& queued, const std::shared_ptr<Question>& question);
  // Whether to wait for the search of another server, which expects to need `expected`.
  bool IsWorthWaiting(const PendingOrder& pending, std::chrono::milliseconds expected) const;
  void Fail(const QueuedTurn& queued, const absl::Status& why);
  // Has `run` called on `executor` unless the work is begun before, or `refuse`, with the reason.
  static void Queue(Executor& executor, int64_t running_bytes, const QueuedTurn& queued, std::function<void()> run,
                    const std::function<void(const absl::Status&)>& refuse);
  void Launch(const QueuedTurn& queued);
  void Run(const QueuedTurn& queued);
  FoundPlan Search(PendingOrder& pending, Searches::Piece& search);
  // Runs on a serving thread.
  void Deliver(const PendingOrderPtr& pending, const Result& result);
  // Serves those who did not search themselves: answers with what was found, or goes on from it.
  void Share(const PendingOrderPtr& pending, const Result& result);

  PlanningEngine& engine_;
  Executor& searching_;
  Executor& serving_;
  Executor& storing_;
  ClaimKeeper* claims_;
  const int64_t max_waiting_bytes_;
  Searches searches_;
  std::atomic<int64_t> waiting_bytes_{0};
  std::atomic<int64_t> shared_{0};
  std::atomic<int64_t> alone_{0};
  // Last: its calls use the above.
  DelayedCalls delays_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_PLAN_FINDER_H_
