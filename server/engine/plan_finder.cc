#include "server/engine/plan_finder.h"

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
std::string SearchKey(const PlanTask& task, const SearchObserver* observer) {
  const bool with_plans = observer != nullptr && observer->wants_incumbent_plans();
  return absl::StrCat(with_plans ? task.key : task.shared_key, "/", LimitsOf(task), with_plans ? "/plans" : "");
}

// Names the line in which an order waits for its search to begin.
std::string GroupOf(const PlanFinder::Order& order) {
  return absl::StrCat(order.context.tenant, order.priority == Priority::kBackground ? "/background" : "",
                      order.has_place ? "/placed" : "");
}

// Whether an error is about things by the names or places that they have in the request that was searched for: lists in
// the order of its own, or, `is_other`, devices of its own.
bool SpeaksOfOthers(absl::StatusCode code, bool is_other) {
  return code == absl::StatusCode::kInvalidArgument || (is_other && code == absl::StatusCode::kFailedPrecondition);
}

// Whether any plan answers the order, which has been cancelled.
bool TakesAnyPlan(const PlanFinder::Order& order) {
  return order.takes_what_is_found && order.context.stop.stop_requested();
}

// Hands what a search tells to all who wait for it, also to those who come later, and its two ends to the log of the
// order that it is made for.
template <typename Search>
class SearchRelay final : public SearchObserver {
 public:
  SearchRelay(Search& search, SearchObserver* log) : search_(search), log_(log) {}

  void OnPhase(std::string_view phase) override {
    search_.PublishAndKeep(kPhase, [name = std::string(phase)](SearchObserver& observer) { observer.OnPhase(name); });
  }
  void OnIncumbent(const Incumbent& incumbent) override {
    search_.PublishAndKeep(kIncumbent, [incumbent](SearchObserver& observer) { observer.OnIncumbent(incumbent); });
  }
  void OnBound(const Bound& bound) override {
    search_.PublishAndKeep(kBound, [bound](SearchObserver& observer) { observer.OnBound(bound); });
  }
  bool wants_incumbent_plans() const override {
    bool wanted = false;
    search_.Publish([&wanted](SearchObserver& observer) { wanted = wanted || observer.wants_incumbent_plans(); });
    return wanted;
  }
  void OnIncumbentAnswer(const v1::Plan& plan) override {
    search_.PublishAndKeep(kAnswer, [kept = std::make_shared<const v1::Plan>(plan)](SearchObserver& observer) {
      observer.OnIncumbentAnswer(*kept);
    });
  }
  void OnSearchStart(const SearchStart& start) override {
    if (log_ != nullptr) log_->OnSearchStart(start);
  }
  void OnSearchEnd(const absl::StatusOr<Plan>& result, std::chrono::nanoseconds elapsed) override {
    if (log_ != nullptr) log_->OnSearchEnd(result, elapsed);
  }

 private:
  // What is kept for those who come later, in the order in which they are told.
  enum Kind { kPhase, kBound, kIncumbent, kAnswer };

  Search& search_;
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

std::string PlanFinder::ClaimKey(const PlanTask& task, const std::string& tenant) {
  return absl::StrCat("plan/", task.shared_key, "/", LimitsOf(task), "/", tenant);
}

void PlanFinder::Take(Order order) { Serve(std::make_shared<PendingOrder>(std::move(order))); }

void PlanFinder::Serve(const PendingOrderPtr& pending) {
  const Order& order = pending->order;
  const std::shared_ptr<const CachedPlan> known = engine_.FindPlan(order.task, order.context);
  if (known != nullptr) {
    order.done(AnswerOf(order.task, *known, /*from_cache=*/true), PlanSource::kCached);
    return;
  }
  // Who goes on from a plan of its own is not served by the search of somebody who does not.
  if (order.task.skip_cache || order.task.start.has_value()) return SearchAlone(pending);
  if (!JoinSearch(pending, SearchKey(order.task, order.context.observer))) SearchAlone(pending);
}

void PlanFinder::SearchAlone(const PendingOrderPtr& pending) { JoinSearch(pending, absl::StrCat("alone/", ++alone_)); }

bool PlanFinder::JoinSearch(const PendingOrderPtr& pending, const std::string& search_key) {
  const std::lock_guard lock(pending->mutex);
  const Order& order = pending->order;
  const auto deadline = order.context.deadline.value_or(Executor::Clock::time_point::max());
  const auto deliver = [this, pending](const Result& result) {
    serving_.Requeue({.run = [this, pending, result](const absl::Status& /*admission*/) { Deliver(pending, result); },
                      .tenant = pending->order.context.tenant});
  };
  const Searches::Share share = searches_.Join({.key = search_key,
                                                .group = GroupOf(order),
                                                .answer_by = deadline,
                                                .patience = order.patience.value_or(deadline)},
                                               pending, {.on_result = deliver, .listener = order.context.observer});
  pending->leads = share.leads;
  // What searches hold is counted where they are admitted.
  pending->waiting_bytes = share.leads ? 0 : order.bytes;
  waiting_bytes_ += pending->waiting_bytes;
  // Its group waits for a turn that it has: what that holds is counted where it is queued.
  const bool may_leave = !share.leads && share.turn == nullptr;
  if (may_leave && waiting_bytes_ > max_waiting_bytes_ && searches_.Leave(share)) {
    waiting_bytes_ -= pending->waiting_bytes;
    return false;
  }
  pending->on_gone.emplace(order.context.stop,
                           [this, share, weak = std::weak_ptr<PendingOrder>(pending)] { GiveUp(weak, share); });
  if (share.turn != nullptr) Begin({.search = share.piece, .turn = share.turn, .pending = pending});
  return true;
}

void PlanFinder::GiveUp(const std::weak_ptr<PendingOrder>& pending, const Searches::Share& share) {
  // Keeps the order alive: leaving drops what the search keeps of it.
  const PendingOrderPtr held = pending.lock();
  if (held == nullptr || (held->order.takes_what_is_found && searches_.StopFor(share))) return;
  if (!searches_.Leave(share)) return;
  waiting_bytes_ -= held->waiting_bytes;
  held->order.done(absl::CancelledError("cancelled"), PlanSource::kShared);
}

class PlanFinder::Question {
 public:
  // Whether the caller is the one who goes on with the queued.
  bool Settle() { return !is_settled_.exchange(true); }
  bool is_settled() const { return is_settled_; }

 private:
  std::atomic<bool> is_settled_{false};
};

void PlanFinder::Begin(const QueuedTurn& queued) {
  if (queued.pending->order.task.skip_cache || !engine_.MayFetch()) return Launch(queued);
  const auto question = std::make_shared<Question>();
  // The job holds the queued for as long as nobody has settled the question.
  delays_.After(kStorePatience, [this, question, search = std::weak_ptr(queued.search),
                                 turn = std::weak_ptr(queued.turn), pending = std::weak_ptr(queued.pending)] {
    const QueuedTurn waiting{search.lock(), turn.lock(), pending.lock()};
    const bool waits = waiting.search != nullptr && waiting.turn != nullptr && waiting.pending != nullptr;
    if (waits && question->Settle()) Launch(waiting);
  });
  Queue(
      storing_, /*running_bytes=*/0, queued, [this, queued, question] { AskStore(queued, question); },
      // Whoever may not ask may well search.
      [this, queued, question](const absl::Status& /*why*/) {
        if (question->Settle()) Launch(queued);
      });
}

void PlanFinder::Queue(Executor& executor, int64_t running_bytes, const QueuedTurn& queued, std::function<void()> run,
                       const std::function<void(const absl::Status&)>& refuse) {
  // Where the store answers long after all have left, at the end of the server, the executor may be gone.
  if (queued.turn->stop.stop_requested()) return refuse(absl::CancelledError("cancelled while waiting for the store"));
  const Order& order = queued.pending->order;
  QueuedJob job{.deadline = order.context.deadline,
                .stop = queued.turn->stop,
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

void PlanFinder::Fail(const QueuedTurn& queued, const absl::Status& why) {
  searches_.Refuse(queued.search, queued.turn, {why, queued.pending->order.task.key});
}

void PlanFinder::AskStore(const QueuedTurn& queued, const std::shared_ptr<Question>& question) {
  if (question->is_settled()) return;
  PendingOrder& pending = *queued.pending;
  const Order& order = pending.order;
  const auto answer = [&] {
    const std::shared_ptr<const CachedPlan> stored = engine_.FetchPlan(order.task, order.context);
    if (stored == nullptr) return question->is_settled();
    if (!question->Settle()) return true;
    searches_.Complete(queued.search, {stored, order.task.key, /*is_fetched=*/true});
    // Somebody else's turn may have begun the search.
    queued.search->stop().request_stop();
    return true;
  };
  if (answer()) return;
  const auto time = std::chrono::floor<std::chrono::milliseconds>(engine_.EffortFor(order.task, order.context).time);
  ClaimKeeper::Outcome outcome;
  if (claims_ != nullptr) outcome = claims_->Try(ClaimKey(order.task, order.context.tenant), time);
  // Whoever had it may have stored its plan in between.
  if (outcome.claim != nullptr && answer()) return;
  if (!question->Settle()) return;
  {
    const std::lock_guard lock(pending.mutex);
    pending.claim = outcome.claim;
  }
  const bool waits = outcome.expected_by_other.has_value() && IsWorthWaiting(pending, *outcome.expected_by_other);
  if (!waits) return Launch(queued);
  waiting_bytes_ += order.bytes;
  delays_.After(pending.pause, [this, queued] {
    waiting_bytes_ -= queued.pending->order.bytes;
    Begin(queued);
  });
  pending.pause = std::min(2 * pending.pause, kLongestPause);
}

bool PlanFinder::IsWorthWaiting(const PendingOrder& pending, std::chrono::milliseconds expected) const {
  if (!searching_.is_admitting() || waiting_bytes_ + pending.order.bytes > max_waiting_bytes_) return false;
  const std::chrono::nanoseconds waited = Executor::Clock::now() - pending.start;
  const std::chrono::nanoseconds left = engine_.EffortFor(pending.order.task, pending.order.context).time;
  // A deadline shrinks what is left, and of what is left some is for a search of its own. A time limit does not: the
  // other search takes as long, and its plan has to be stored.
  const bool has_deadline = pending.order.context.deadline.has_value();
  const std::chrono::nanoseconds all = has_deadline ? waited + left : left;
  const std::chrono::nanoseconds patience = has_deadline ? all - all / 10 : all + all / 2 + kLongestPause;
  return expected <= all + all / 20 + kClockGrain && waited < patience;
}

void PlanFinder::Launch(const QueuedTurn& queued) {
  const Order& order = queued.pending->order;
  Executor& where = order.searching != nullptr ? *order.searching : searching_;
  Queue(
      where, engine_.TableBytes(order.task), queued, [this, queued] { Run(queued); },
      [this, queued](const absl::Status& why) { Fail(queued, why); });
}

void PlanFinder::Run(const QueuedTurn& queued) {
  const PendingOrderPtr work = queued.search->Begin(queued.turn);
  if (work == nullptr) return;
  // That the server ends is said to the turn.
  const std::stop_callback on_stop(queued.turn->stop.get_token(), [&queued] { queued.search->stop().request_stop(); });
  const FoundPlan found = Search(*work, *queued.search);
  if (found.ok() && engine_.MayFetch()) {
    auto store = [this, work, pending = queued.pending, found = *found](const absl::Status& /*admission*/) {
      engine_.StoreShared(work->order.task, *found);
      // Those who wait for a claim look for the plan when it is free.
      for (const PendingOrderPtr& holder : {work, pending}) {
        const std::lock_guard lock(holder->mutex);
        holder->claim.reset();
      }
    };
    storing_.Requeue({.run = std::move(store), .tenant = queued.pending->order.context.tenant});
  }
  searches_.Complete(queued.search, {found, work->order.task.key});
}

PlanFinder::FoundPlan PlanFinder::Search(PendingOrder& pending, Searches::Piece& search) {
  SearchRelay relay(search, pending.order.log.get());
  const std::stop_callback on_stop(search.stop().get_token(), [&pending] {
    if (pending.order.log != nullptr) pending.order.log->OnStopRequested();
  });
  CallContext context = pending.order.context;
  context.stop = search.stop().get_token();
  context.observer = &relay;
  return WithoutExceptions([&] { return engine_.Search(pending.order.task, context); });
}

void PlanFinder::Deliver(const PendingOrderPtr& pending, const Result& result) {
  const Order& order = pending->order;
  bool leads = false;
  {
    const std::lock_guard lock(pending->mutex);
    leads = pending->leads;
  }
  waiting_bytes_ -= pending->waiting_bytes;
  const absl::StatusCode code = result.plan.status().code();
  if (leads && !result.is_fetched) {
    order.done(result.plan.ok() ? absl::StatusOr<v1::Plan>(AnswerOf(order.task, **result.plan, /*from_cache=*/false))
                                : result.plan.status(),
               PlanSource::kSearched);
  } else if (SpeaksOfOthers(code, result.key != order.task.key)) {
    SearchAlone(pending);
  } else if (result.plan.ok() || code == absl::StatusCode::kDeadlineExceeded) {
    Share(pending, result);
  } else {
    order.done(result.plan.status(), PlanSource::kShared);
  }
}

void PlanFinder::Share(const PendingOrderPtr& pending, const Result& result) {
  const Order& order = pending->order;
  const bool takes_any = TakesAnyPlan(order);
  const bool is_enough =
      result.plan.ok() && (takes_any || Satisfies(**result.plan, engine_.EffortFor(order.task, order.context)));
  // Otherwise the search had less time than this call has.
  if (!is_enough) return Serve(pending);
  CallContext context = order.context;
  // What ended the search does not end the check of its plan.
  if (takes_any) context.stop = {};
  const std::shared_ptr<const CachedPlan> plan = engine_.InWordsOf(order.task, *result.plan, context);
  if (plan == nullptr) return SearchAlone(pending);
  if (!result.is_fetched) ++shared_;
  order.done(AnswerOf(order.task, *plan, /*from_cache=*/true),
             result.is_fetched ? PlanSource::kCached : PlanSource::kShared);
}

}  // namespace planwright::server
