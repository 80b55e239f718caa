// A review from question to answer, without a network: who asks the planning service is the caller's.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_JUDGE_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_JUDGE_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/webhook/review/envelope.h"
#include "client/webhook/review/errors.h"
#include "client/webhook/review/pools.h"
#include "client/webhook/review/wishes.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::webhook {

// Which question the API server asks: what to change, or whether the final object may be.
enum class Door { kMutate, kValidate };

// How the hook was set up.
struct Policy {
  Mode mode = Mode::kAnnotate;
  // How long each search may take.
  absl::Duration time_limit = absl::Seconds(2);
  // Pools whose numbers are older deny nothing.
  absl::Duration max_pools_age = absl::InfiniteDuration();
};

// The planning service. Neither function throws.
struct Service {
  // CreatePlan, with the status that it ends with.
  std::function<absl::StatusOr<v1::Plan>(const v1::CreatePlanRequest& request)> plan;
  // GetGraph.
  std::function<absl::StatusOr<v1::Graph>(const std::string& name)> graph;
};

enum class Outcome { kUntouched, kPlanned, kWarned, kDenied };

// "untouched", "planned", "warned", "denied".
std::string_view OutcomeName(Outcome outcome);

struct Judgement {
  Outcome outcome = Outcome::kUntouched;
  // Without warnings; AnswerOf adds them.
  Answer answer;
  std::vector<Warning> warnings;
  // Every pool that was asked has proven that the job does not fit. Also where that does not deny.
  bool is_infeasible = false;
};

// Whether the review is of a job that is to be planned: one that is created, of a judged kind, with a graph annotation,
// neither being deleted nor owned by a controller of a judged kind; or one that is updated where its graph or problem
// annotation has changed. Others are admitted untouched. Validation judges only what `enforce` would deny.
bool IsJudged(const Review& review, Door door, const Policy& policy);

// Asks the service for every pool that the job may run on, until one has a plan. Denies only in Door::kValidate and
// mode enforce, where each pool was proven infeasible and none is empty or stale at `now`.
Judgement Judge(const Review& review, Door door, const Policy& policy, const Pools& pools, absl::Time now,
                const Service& service);

// The answer with its warnings, each after "planwright: ".
Answer AnswerOf(const Judgement& judgement);

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_JUDGE_H_
