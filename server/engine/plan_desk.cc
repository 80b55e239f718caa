#include "server/engine/plan_desk.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/engine/task/without_exceptions.h"

namespace planwright::server {
namespace {

// How often those who wait for the search of another server look for its plan, at least.
constexpr std::chrono::milliseconds kLongestPause{400};
// Times that differ by so little come from the same wish.
constexpr std::chrono::milliseconds kClockGrain{100};

// What of a task decides whether two want the same search, beside its key.
std::string LimitsOf(const PlanTask& task) {
  const DecodedOptions& options = task.options;
  return absl::StrCat(options.options.work_limit.value_or(-1), "/", options.options.relative_gap, "/",
                      options.time_limit.value_or(std::chrono::nanoseconds(-1)).count());
}

// What orders must have in common, beside the key of their plan, to want the same search. One that makes the plans of
// its incumbents is another, because a search is asked for those once, when it begins.
std::string FlightKey(const PlanTask& task, const SearchObserver* observer) {
  const bool with_plans = observer != nullptr && observer->wants_incumbent_plans();
  return absl::StrCat(with_plans ? task.key : task.shared_key, "/", LimitsOf(task), with_plans ? "/plans" : "");
}

// Who waits in one line for a search to begin.
std::string GroupOf(const PlanDesk::Order& order) {
  return absl::StrCat(order.context.tenant, order.priority == Priority::kBackground ? "/background" : "",
                      order.has_place ? "/placed" : "");
}

// Whether an error is about things by the names or places that they have in the request that was searched for: lists in
// the order of its own, or, `is_other`, devices of its own.
bool SpeaksOfOthers(absl::StatusCode code, bool is_other) {
  return code == absl::StatusCode::kInvalidArgument || (is_other && code == absl::StatusCode::kFailedPrecondition);
}

// Hands what a search tells to all who wait for it, and its two ends to the log of the order that it is made for.
template <typename Flight>
class FlightRelay final : public SearchObserver {
 public:
  FlightRelay(Flight& flight, SearchObserver* log) : flight_(flight), log_(log) {}

  void OnPhase(std::string_view phase) override {
    flight_.Publish([phase](SearchObserver& observer) { observer.OnPhase(phase); });
  }
  void OnIncumbent(const Incumbent& incumbent) override {
    flight_.Publish([&incumbent](SearchObserver& observer) { observer.OnIncumbent(incumbent); });
  }
  void OnBound(const Bound& bound) override {
    flight_.Publish([&bound](SearchObserver& observer) { observer.OnBound(bound); });
  }
  bool wants_incumbent_plans() const override {
    bool wanted = false;
    flight_.Publish([&wanted](SearchObserver& observer) { wanted = wanted || observer.wants_incumbent_plans(); });
    return wanted;
  }
  void OnIncumbentAnswer(const v1::Plan& plan) override {
    flight_.Publish([&plan](SearchObserver& observer) { observer.OnIncumbentAnswer(plan); });
  }
  void OnSearchStart(const SearchStart& start) override {
    if (log_ != nullptr) log_->OnSearchStart(start);
  }
  void OnSearchEnd(const absl::StatusOr<Plan>& result, std::chrono::nanoseconds elapsed) override {
    if (log_ != nullptr) log_->OnSearchEnd(result, elapsed);
  }

 private:
  Flight& flight_;
  SearchObserver* log_;
};

}  // namespace

const char* NameOf(PlanSource source) {
  switch (source) {
    case PlanSource::kSearched:
      return "searched";
    case PlanSource::kShared:
      return "shared";
    case PlanSource::kCached:
      return "cached";
  }
  return "searched";
}

std::string PlanDesk::ClaimKey(const PlanTask& task, const std::string& tenant) {
  return absl::StrCat("plan/", task.shared_key, "/", LimitsOf(task), "/", tenant);
}

void PlanDesk::Take(Order order) { Serve(std::make_shared<Errand>(std::move(order))); }

void PlanDesk::Serve(const ErrandPtr& errand) {
  const Order& order = errand->order;
  const std::shared_ptr<const CachedPlan> known = engine_.FindPlan(order.task, order.context);
  if (known != nullptr) {
    order.done(AnswerOf(order.task, *known, /*from_cache=*/true), PlanSource::kCached);
    return;
  }
  if (order.task.skip_cache) return GoAlone(errand);
  if (!TakeSeat(errand, FlightKey(order.task, order.context.observer))) GoAlone(errand);
}

void PlanDesk::GoAlone(const ErrandPtr& errand) { TakeSeat(errand, absl::StrCat("alone/", ++alone_)); }

bool PlanDesk::TakeSeat(const ErrandPtr& errand, const std::string& flight_key) {
  const std::lock_guard lock(errand->mutex);
  const Order& order = errand->order;
  const auto deadline = order.context.deadline.value_or(Executor::Clock::time_point::max());
  const auto deliver = [this, errand](const Result& result) {
    serving_.Requeue({.run = [this, errand, result](const absl::Status& /*admission*/) { Deliver(errand, result); },
                      .tenant = errand->order.context.tenant});
  };
  const Flights::Seat seat = flights_.Join({.key = flight_key,
                                            .group = GroupOf(order),
                                            .answer_by = deadline,
                                            .patience = order.patience.value_or(deadline)},
                                           errand, {.on_result = deliver, .listener = order.context.observer});
  errand->leads = seat.leads;
  // What searches hold is counted where they are admitted.
  errand->waiting_bytes = seat.leads ? 0 : order.bytes;
  waiting_bytes_ += errand->waiting_bytes;
  if (!seat.leads && waiting_bytes_ > max_waiting_bytes_ && flights_.Leave(seat)) {
    waiting_bytes_ -= errand->waiting_bytes;
    return false;
  }
  errand->on_gone.emplace(order.context.stop,
                          [this, seat, weak = std::weak_ptr<Errand>(errand)] { GiveUp(weak, seat); });
  if (seat.turn != nullptr) Begin({.flight = seat.flight, .turn = seat.turn, .errand = errand});
  return true;
}

void PlanDesk::GiveUp(const std::weak_ptr<Errand>& errand, const Flights::Seat& seat) {
  // Holds the errand: leaving drops the flight's own hold.
  const ErrandPtr held = errand.lock();
  if (held == nullptr || !flights_.Leave(seat)) return;
  waiting_bytes_ -= held->waiting_bytes;
  held->order.done(absl::CancelledError("cancelled"), PlanSource::kShared);
}

class PlanDesk::Question {
 public:
  // Whether the caller is the one who goes on with the ride.
  bool Settle() { return !is_settled_.exchange(true); }
  bool is_settled() const { return is_settled_; }

 private:
  std::atomic<bool> is_settled_{false};
};

void PlanDesk::Begin(const Ride& ride) {
  if (ride.errand->order.task.skip_cache || !engine_.MayFetch()) return Launch(ride);
  const auto question = std::make_shared<Question>();
  // The job holds the ride for as long as nobody has settled the question.
  delays_.After(kStorePatience, [this, question, flight = std::weak_ptr(ride.flight), turn = std::weak_ptr(ride.turn),
                                 errand = std::weak_ptr(ride.errand)] {
    const Ride waiting{flight.lock(), turn.lock(), errand.lock()};
    const bool waits = waiting.flight != nullptr && waiting.turn != nullptr && waiting.errand != nullptr;
    if (waits && question->Settle()) Launch(waiting);
  });
  Queue(
      storing_, /*running_bytes=*/0, ride, [this, ride, question] { AskStore(ride, question); },
      // Whoever may not ask may well search.
      [this, ride, question](const absl::Status& /*why*/) {
        if (question->Settle()) Launch(ride);
      });
}

void PlanDesk::Queue(Executor& executor, int64_t running_bytes, const Ride& ride, std::function<void()> run,
                     std::function<void(const absl::Status&)> refuse) {
  const Order& order = ride.errand->order;
  Job job{.deadline = order.context.deadline,
          .stop = ride.turn->stop,
          .run =
              [run = std::move(run), refuse](const absl::Status& admission) {
                if (admission.ok()) return run();
                refuse(admission);
              },
          .bytes = order.bytes,
          .running_bytes = running_bytes,
          .tenant = order.context.tenant,
          .priority = order.priority};
  if (order.has_place) return executor.Requeue(std::move(job));
  const absl::Status accepted = executor.Submit(std::move(job));
  if (!accepted.ok()) refuse(accepted);
}

void PlanDesk::Fail(const Ride& ride, const absl::Status& why) {
  flights_.Refuse(ride.flight, ride.turn, {why, ride.errand->order.task.key});
}

void PlanDesk::AskStore(const Ride& ride, const std::shared_ptr<Question>& question) {
  if (question->is_settled()) return;
  Errand& errand = *ride.errand;
  const Order& order = errand.order;
  const auto answer = [&] {
    const std::shared_ptr<const CachedPlan> stored = engine_.FetchPlan(order.task, order.context);
    if (stored == nullptr) return question->is_settled();
    if (!question->Settle()) return true;
    flights_.Complete(ride.flight, {stored, order.task.key, /*is_fetched=*/true});
    // Somebody else's turn may have begun the search.
    ride.flight->stop().request_stop();
    return true;
  };
  if (answer()) return;
  const auto time = std::chrono::floor<std::chrono::milliseconds>(engine_.EffortFor(order.task, order.context).time);
  Claims::Outcome claim;
  if (claims_ != nullptr) claim = claims_->Try(ClaimKey(order.task, order.context.tenant), time);
  // Whoever had it may have stored its plan in between.
  if (claim.hold != nullptr && answer()) return;
  if (!question->Settle()) return;
  {
    const std::lock_guard lock(errand.mutex);
    errand.claim = claim.hold;
  }
  const bool waits = claim.expected_by_other.has_value() && IsWorthWaiting(errand, *claim.expected_by_other);
  if (!waits) return Launch(ride);
  waiting_bytes_ += order.bytes;
  delays_.After(errand.pause, [this, ride] {
    waiting_bytes_ -= ride.errand->order.bytes;
    Begin(ride);
  });
  errand.pause = std::min(2 * errand.pause, kLongestPause);
}

bool PlanDesk::IsWorthWaiting(const Errand& errand, std::chrono::milliseconds expected) const {
  if (!searching_.is_admitting() || waiting_bytes_ + errand.order.bytes > max_waiting_bytes_) return false;
  const std::chrono::nanoseconds waited = Executor::Clock::now() - errand.start;
  const std::chrono::nanoseconds left = engine_.EffortFor(errand.order.task, errand.order.context).time;
  // A deadline shrinks what is left, and of what is left some is for a search of its own. A time limit does not: the
  // other search takes as long, and its plan has to be stored.
  const bool has_deadline = errand.order.context.deadline.has_value();
  const std::chrono::nanoseconds all = has_deadline ? waited + left : left;
  const std::chrono::nanoseconds patience = has_deadline ? all - all / 10 : all + all / 2 + kLongestPause;
  return expected <= all + all / 20 + kClockGrain && waited < patience;
}

void PlanDesk::Launch(const Ride& ride) {
  Queue(
      searching_, engine_.TableBytes(ride.errand->order.task), ride, [this, ride] { Run(ride); },
      [this, ride](const absl::Status& why) { Fail(ride, why); });
}

void PlanDesk::Run(const Ride& ride) {
  const ErrandPtr work = ride.flight->Begin(ride.turn);
  if (work == nullptr) return;
  // That the server ends is said to the turn.
  const std::stop_callback on_stop(ride.turn->stop.get_token(), [&ride] { ride.flight->stop().request_stop(); });
  const FoundPlan found = Search(*work, *ride.flight);
  if (found.ok() && engine_.MayFetch()) {
    auto store = [this, work, errand = ride.errand, found = *found](const absl::Status& /*admission*/) {
      engine_.StoreShared(work->order.task, *found);
      // Those who wait for a claim look for the plan when it is free.
      for (const ErrandPtr& holder : {work, errand}) {
        const std::lock_guard lock(holder->mutex);
        holder->claim.reset();
      }
    };
    storing_.Requeue({.run = std::move(store), .tenant = ride.errand->order.context.tenant});
  }
  flights_.Complete(ride.flight, {found, work->order.task.key});
}

PlanDesk::FoundPlan PlanDesk::Search(Errand& errand, Flights::Flight& flight) {
  FlightRelay relay(flight, errand.order.log.get());
  const std::stop_callback on_stop(flight.stop().get_token(), [&errand] {
    if (errand.order.log != nullptr) errand.order.log->OnStopRequested();
  });
  CallContext context = errand.order.context;
  context.stop = flight.stop().get_token();
  context.observer = &relay;
  return WithoutExceptions([&] { return engine_.Search(errand.order.task, context); });
}

void PlanDesk::Deliver(const ErrandPtr& errand, const Result& result) {
  const Order& order = errand->order;
  bool leads = false;
  {
    const std::lock_guard lock(errand->mutex);
    leads = errand->leads;
  }
  waiting_bytes_ -= errand->waiting_bytes;
  const absl::StatusCode code = result.plan.status().code();
  if (leads && !result.is_fetched) {
    order.done(result.plan.ok() ? absl::StatusOr<v1::Plan>(AnswerOf(order.task, **result.plan, /*from_cache=*/false))
                                : result.plan.status(),
               PlanSource::kSearched);
  } else if (SpeaksOfOthers(code, result.key != order.task.key)) {
    GoAlone(errand);
  } else if (result.plan.ok() || code == absl::StatusCode::kDeadlineExceeded) {
    Share(errand, result);
  } else {
    order.done(result.plan.status(), PlanSource::kShared);
  }
}

void PlanDesk::Share(const ErrandPtr& errand, const Result& result) {
  const Order& order = errand->order;
  const bool is_enough = result.plan.ok() && Satisfies(**result.plan, engine_.EffortFor(order.task, order.context));
  // Otherwise the search had less time than this call has.
  if (!is_enough) return Serve(errand);
  const std::shared_ptr<const CachedPlan> plan = engine_.InWordsOf(order.task, *result.plan, order.context);
  if (plan == nullptr) return GoAlone(errand);
  if (!result.is_fetched) ++shared_;
  order.done(AnswerOf(order.task, *plan, /*from_cache=*/true),
             result.is_fetched ? PlanSource::kCached : PlanSource::kShared);
}

}  // namespace planwright::server
