#include "server/service/methods/create_plan_call.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/status_macros.h"
#include "server/engine/task/without_exceptions.h"
#include "server/service/call/answer_cache.h"
#include "server/service/call/call_messages.h"
#include "server/service/methods/plan_request_reading.h"

namespace planwright::server {
namespace {

constexpr std::size_t kSmallRequest = 256 << 10;

// What the request names of what is registered; nullopt: its answer is not to be kept.
std::optional<AnswerCache::References> ReferencesOf(const v1::CreatePlanRequest& request, const std::string& tenant) {
  if (request.skip_cache() || IsToBeKept(request)) return std::nullopt;
  AnswerCache::References references{.tenant = tenant, .names = {}};
  for (const std::string& name : {request.graph_reference(), request.cluster_reference()}) {
    if (IsRegistered(name)) references.names.push_back(name);
  }
  return references;
}

}  // namespace

grpc::ServerUnaryReactor* CreatePlanCall::Start() {
  // A small request is hashed right here, in a fraction of a millisecond; a large one by a serving thread.
  const bool is_small = request_.Length() <= kSmallRequest;
  if (is_small && start_.permitted.ok() && services_.serving.is_admitting() && AnswerKnown()) return this;
  const absl::Status accepted =
      SubmitReading(services_, start_, stop_, request_, [this, is_small](absl::Status admission) {
        if (admission.ok() && !is_small && AnswerKnown()) return;
        if (admission.ok()) admission = WithoutExceptions([this] { return Order(); });
        if (!admission.ok()) End(admission);
      });
  if (!accepted.ok()) End(accepted);
  return this;
}

bool CreatePlanCall::AnswerKnown() {
  answer_key_ = AnswerCache::KeyOf(start_.caller.tenant, services_.engine.model_limits(), request_);
  const std::shared_ptr<const AnswerCache::Answer> answer = services_.answers.Find(answer_key_);
  if (answer == nullptr) return false;
  start_.record->SetPlanKey(answer->plan_key);
  start_.record->SetPlanSource(NameOf(PlanSource::kCached));
  End(SetAnswer(answer->bytes));
  return true;
}

absl::Status CreatePlanCall::Order() {
  const auto bytes = static_cast<int64_t>(request_.Length());
  ASSIGN_OR_RETURN(const auto request, ReadRequest<v1::CreatePlanRequest>(services_, request_));
  if (!request->plan_id().empty()) start_.record->SetResource(ResourceName(kPlans, request->plan_id()));
  references_ = ReferencesOf(*request, start_.caller.tenant);
  return PlaceOrderWhereItBelongs(
      services_, start_, stop_, request, bytes, /*events=*/nullptr,
      [this](absl::StatusOr<v1::Plan> plan) { End(WithoutExceptions([&] { return Answer(std::move(plan)); })); });
}

absl::Status CreatePlanCall::Answer(absl::StatusOr<v1::Plan> plan) {
  RETURN_IF_ERROR(plan.status());
  const v1::Provenance& provenance = plan->provenance();
  // What the clock cut off may not be enough for the next one who asks.
  const bool is_final = provenance.cached() && provenance.stop_reason() != v1::STOP_REASON_TIME_LIMIT &&
                        provenance.stop_reason() != v1::STOP_REASON_CANCELLED;
  // Named only where it is stored.
  if (!plan->name().empty()) start_.record->SetResource(plan->name());
  v1::CreatePlanResponse response;
  *response.mutable_plan() = *std::move(plan);
  RETURN_IF_ERROR(SetAnswer(response));
  if (!is_final || !references_.has_value()) return absl::OkStatus();
  services_.answers.Keep(answer_key_, {.bytes = response_,
                                       .plan_key = start_.record->plan_key(),
                                       .references = *std::move(references_),
                                       .asked = asked_});
  return absl::OkStatus();
}

}  // namespace planwright::server
