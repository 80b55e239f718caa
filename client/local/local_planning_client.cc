#include "client/local/local_planning_client.h"

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "client/library/error_details.h"
#include "core/base/units.h"
#include "server/engine/batch_planning.h"
#include "server/engine/library/library.h"
#include "server/engine/rpc_status.h"
#include "server/serving/admission/resources.h"

namespace planwright::client {
namespace {

// Passes what the engine reports on to the caller's listener.
class Relay final : public server::SearchObserver {
 public:
  explicit Relay(ProgressListener& listener) : listener_(listener) {}

  void OnPhase(std::string_view phase) override { listener_.OnPhase(phase); }
  void OnIncumbent(const Incumbent& incumbent) override { listener_.OnIncumbent(ToMilliseconds(incumbent.objective)); }
  void OnBound(const Bound& bound) override { listener_.OnBound(ToMilliseconds(bound.value)); }
  bool wants_incumbent_plans() const override { return listener_.wants_incumbent_plans(); }
  void OnIncumbentAnswer(const v1::Plan& plan) override { listener_.OnIncumbentPlan(plan); }

 private:
  ProgressListener& listener_;
};

// Returns the same moment on the clock of searches.
SolveLimits::Clock::time_point ToSteady(CallOptions::Clock::time_point deadline) {
  return SolveLimits::Clock::now() +
         std::chrono::duration_cast<SolveLimits::Clock::duration>(deadline - CallOptions::Clock::now());
}

// The status as it would arrive from a server; but here it is the caller who chose to have no store.
absl::Status AsFromServer(const absl::Status& status) {
  if (server::IsStoreMissing(status)) {
    return absl::InvalidArgumentError(
        "this needs a server that keeps plans, graphs and clusters; name one with --server");
  }
  const std::string details = server::ToRpcStatus(status, std::numeric_limits<std::size_t>::max()).SerializeAsString();
  return WithErrorDetails(absl::Status(status.code(), status.message()), details);
}

}  // namespace

server::EngineConfig ConfigOfThisMachine(std::string version) {
  server::EngineConfig config;
  config.version = std::move(version);
  config.cpus = server::AvailableCpus();
  config.memory_budget_bytes = server::DefaultMemoryBudget();
  return config;
}

LocalPlanningClient::LocalPlanningClient(server::EngineConfig config) : engine_(std::move(config)) {}

absl::StatusOr<v1::CreatePlanResponse> LocalPlanningClient::CreatePlan(const v1::CreatePlanRequest& request,
                                                                       const CallOptions& options) {
  server::CallContext context{.deadline = ToSteady(options.deadline), .stop = options.stop};
  std::optional<Relay> relay;
  if (options.progress != nullptr) context.observer = &relay.emplace(*options.progress);
  auto response = engine_.CreatePlan(request, context);
  if (!response.ok()) return AsFromServer(response.status());
  return response;
}

absl::StatusOr<v1::BatchCreatePlansResponse> LocalPlanningClient::BatchCreatePlans(
    const v1::BatchCreatePlansRequest& request, const CallOptions& options) {
  const auto batch = server::BatchPlanning::Start(engine_, request, {.deadline = ToSteady(options.deadline)});
  if (!batch.ok()) return AsFromServer(batch.status());
  while (!(*batch)->is_done()) {
    (*batch)->PlanNext(options.stop, /*observer=*/nullptr);
    if (options.stop.stop_requested()) return absl::CancelledError("cancelled");
  }
  return (*batch)->TakeResponse();
}

absl::StatusOr<v1::EvaluatePlanResponse> LocalPlanningClient::EvaluatePlan(const v1::EvaluatePlanRequest& request,
                                                                           const CallOptions& options) {
  auto response = engine_.EvaluatePlan(request, {.deadline = ToSteady(options.deadline), .stop = options.stop});
  if (!response.ok()) return AsFromServer(response.status());
  return response;
}

absl::Status LocalPlanningClient::SimulatePlan(const v1::SimulatePlanRequest& request, const CallOptions& options,
                                               const SimulationListener& listener) {
  auto messages = engine_.SimulatePlan(request, {.deadline = ToSteady(options.deadline), .stop = options.stop});
  if (!messages.ok()) return AsFromServer(messages.status());
  while (auto message = messages->Next()) {
    if (options.stop.stop_requested()) return absl::CancelledError("cancelled");
    listener(*std::move(message));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::GetGraphResponse> LocalPlanningClient::GetGraph(const v1::GetGraphRequest& request,
                                                                   const CallOptions& /*options*/) {
  auto response = engine_.GetGraph(request);
  if (!response.ok()) return AsFromServer(response.status());
  return response;
}

absl::StatusOr<v1::GetClusterResponse> LocalPlanningClient::GetCluster(const v1::GetClusterRequest& request,
                                                                       const CallOptions& /*options*/) {
  auto response = engine_.GetCluster(request);
  if (!response.ok()) return AsFromServer(response.status());
  return response;
}

absl::StatusOr<v1::GetServerInfoResponse> LocalPlanningClient::GetServerInfo(
    const v1::GetServerInfoRequest& /*request*/, const CallOptions& /*options*/) {
  return engine_.GetServerInfo();
}

absl::StatusOr<std::string> LocalPlanningClient::WriteProgram(const v1::CreatePlanRequest& request,
                                                              ProgramFormat format, ProgramForm form) {
  auto text = engine_.WriteProgram(
      request, format == ProgramFormat::kMps ? planwright::ProgramFormat::kMps : planwright::ProgramFormat::kLp,
      form == ProgramForm::kPrinted ? planwright::ProgramForm::kPrinted : planwright::ProgramForm::kCompact);
  if (!text.ok()) return AsFromServer(text.status());
  return text;
}

}  // namespace planwright::client
