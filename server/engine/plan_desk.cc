#include "server/engine/plan_desk.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/engine/without_exceptions.h"
#include "server/serving/retry_delay.h"

namespace planwright::server {
namespace {

// How soon a caller may try again where too many wait.
constexpr std::chrono::milliseconds kRetryDelay{1000};

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

std::string PlanDesk::ClaimKey(const PlanTask& task) {
  return absl::StrCat("plan/", task.shared_key, "/", LimitsOf(task));
}

void PlanDesk::Take(Order order) { Serve(std::make_shared<Errand>(std::move(order))); }

void PlanDesk::Serve(const ErrandPtr& errand) {
  const Order& order = errand->order;
  const std::shared_ptr<const CachedPlan> known = engine_.FindPlan(order.task, order.context);
  if (known != nullptr) {
    order.done(AnswerOf(order.task, *known, /*from_cache=*/true), PlanSource::kCached);
    return;
  }
  TakeSeat(errand,
           order.task.skip_cache ? absl::StrCat("alone/", ++alone_) : FlightKey(order.task, order.context.observer));
}

void PlanDesk::TakeSeat(const ErrandPtr& errand, const std::string& flight_key) {
  const std::lock_guard lock(errand->mutex);
  const Order& order = errand->order;
  const auto deadline = order.context.deadline.value_or(Executor::Clock::time_point::max());
  const Flights::Seat seat = flights_.Join(
      flight_key, deadline, order.patience.value_or(deadline),
      {.on_result =
           [this, errand](const Result& result) {
             serving_.Requeue(
                 {.run = [this, errand, result](const absl::Status& /*admission*/) { Deliver(errand, result); },
                  .tenant = errand->order.context.tenant});
           },
       .listener = order.context.observer});
  errand->leads = seat.leads;
  // What searches hold is counted where they are admitted.
  errand->waiting_bytes = seat.leads ? 0 : order.bytes;
  waiting_bytes_ += errand->waiting_bytes;
  errand->on_gone.emplace(order.context.stop, [this, seat, weak = std::weak_ptr<Errand>(errand)] {
    GiveUp(weak, seat, absl::CancelledError("cancelled"));
  });
  if (seat.leads) {
    Begin(errand, seat.flight);
  } else if (waiting_bytes_ > max_waiting_bytes_) {
    GiveUp(errand, seat,
           WithRetryDelay(absl::ResourceExhaustedError(absl::StrCat(
                              "the server is full: the requests that wait for the searches of others hold ",
                              waiting_bytes_.load(), " bytes (--memory_budget)")),
                          kRetryDelay));
  }
}

void PlanDesk::GiveUp(const std::weak_ptr<Errand>& errand, const Flights::Seat& seat, const absl::Status& why) {
  // Holds the errand: leaving drops the flight's own hold.
  const ErrandPtr held = errand.lock();
  if (held == nullptr || !flights_.Leave(seat)) return;
  waiting_bytes_ -= held->waiting_bytes;
  held->order.done(why, PlanSource::kShared);
}

void PlanDesk::Begin(const ErrandPtr& errand, const FlightPtr& flight) {
  if (errand->order.task.skip_cache || !engine_.MayFetch()) return Launch(errand, flight);
  Queue(storing_, /*running_bytes=*/0, errand, flight, [this, errand, flight] { AskStore(errand, flight); });
}

void PlanDesk::Queue(Executor& executor, int64_t running_bytes, const ErrandPtr& errand, const FlightPtr& flight,
                     std::function<void()> run) {
  const Order& order = errand->order;
  Job job{.deadline = order.context.deadline,
          .stop = flight->stop(),
          .run =
              [this, errand, flight, run = std::move(run)](const absl::Status& admission) {
                if (admission.ok()) return run();
                Fail(*errand, flight, admission);
              },
          .bytes = order.bytes,
          .running_bytes = running_bytes,
          .tenant = order.context.tenant,
          .priority = order.priority};
  if (order.has_place) return executor.Requeue(std::move(job));
  const absl::Status accepted = executor.Submit(std::move(job));
  if (!accepted.ok()) Fail(*errand, flight, accepted);
}

void PlanDesk::Fail(const Errand& errand, const FlightPtr& flight, const absl::Status& why) {
  flights_.Complete(flight, {why, errand.order.task.key});
}

void PlanDesk::AskStore(const ErrandPtr& errand, const FlightPtr& flight) {
  const Order& order = errand->order;
  const auto answer = [&] {
    const std::shared_ptr<const CachedPlan> stored = engine_.FetchPlan(order.task, order.context);
    if (stored == nullptr) return false;
    flights_.Complete(flight, {stored, order.task.key, /*is_fetched=*/true});
    return true;
  };
  if (answer()) return;
  if (claims_ == nullptr) return Launch(errand, flight);
  const auto time = std::chrono::floor<std::chrono::milliseconds>(engine_.EffortFor(order.task, order.context).time);
  Claims::Outcome claim = claims_->Try(ClaimKey(order.task), time);
  errand->claim = std::move(claim.hold);
  // Whoever had it may have stored its plan in between.
  if (errand->claim != nullptr && answer()) return;
  const bool waits = claim.expected_by_other.has_value() && IsWorthWaiting(*errand, *claim.expected_by_other);
  if (!waits) return Launch(errand, flight);
  waiting_bytes_ += order.bytes;
  delays_.After(errand->pause, [this, errand, flight] {
    waiting_bytes_ -= errand->order.bytes;
    Begin(errand, flight);
  });
  errand->pause = std::min(2 * errand->pause, kLongestPause);
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

void PlanDesk::Launch(const ErrandPtr& errand, const FlightPtr& flight) {
  Queue(searching_, engine_.TableBytes(errand->order.task), errand, flight,
        [this, errand, flight] { Run(errand, flight); });
}

void PlanDesk::Run(const ErrandPtr& errand, const FlightPtr& flight) {
  const FoundPlan found = Search(*errand, *flight);
  if (found.ok() && engine_.MayFetch()) {
    // The claim ends with the errand, which this holds until the plan is stored.
    auto store = [this, errand, found = *found](const absl::Status& /*admission*/) {
      engine_.StoreShared(errand->order.task, *found);
      errand->claim.reset();
    };
    storing_.Requeue({.run = std::move(store), .tenant = errand->order.context.tenant});
  }
  flights_.Complete(flight, {found, errand->order.task.key});
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
    TakeSeat(errand, absl::StrCat("alone/", ++alone_));
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
  if (plan == nullptr) return TakeSeat(errand, absl::StrCat("alone/", ++alone_));
  if (!result.is_fetched) ++shared_;
  order.done(AnswerOf(order.task, *plan, /*from_cache=*/true),
             result.is_fetched ? PlanSource::kCached : PlanSource::kShared);
}

}  // namespace planwright::server
