// Any SimulatePlanRequest in text proto, through EvaluatePlan (whose request has the same fields but for the settings
// of the simulation) and SimulatePlan: every answer speaks of the request, and what a valid plan is said to cost is
// valid itself. Requests are kept small enough for many runs a second.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/engine/planning_engine.h"
#include "tests/fuzz/text_proto.h"

namespace planwright::server {
namespace {

constexpr int32_t kMaxMicroBatches = 64;

PlanningEngine& Engine() {
  static PlanningEngine engine([] {
    EngineConfig config;
    config.version = "fuzz";
    config.model_limits = kFuzzedLimits;
    return config;
  }());
  return engine;
}

v1::EvaluatePlanRequest EvaluationOf(const v1::SimulatePlanRequest& request) {
  v1::EvaluatePlanRequest evaluation;
  *evaluation.mutable_graph() = request.graph();
  *evaluation.mutable_cluster() = request.cluster();
  *evaluation.mutable_plan() = request.plan();
  if (request.has_problem()) *evaluation.mutable_problem() = request.problem();
  return evaluation;
}

void EvaluateOnce(const v1::SimulatePlanRequest& request) {
  v1::EvaluatePlanRequest evaluation = EvaluationOf(request);
  const auto answer = Engine().EvaluatePlan(evaluation);
  if (!answer.ok()) {
    if (!absl::IsInvalidArgument(answer.status())) Fail("neither judged nor refused: " + answer.status().ToString());
    return;
  }
  if (answer->valid() != answer->violations().empty()) Fail("valid, and violations");
  if (!answer->valid() || !answer->has_plan()) return;
  *evaluation.mutable_plan() = answer->plan();
  const auto again = Engine().EvaluatePlan(evaluation);
  if (!again.ok()) Fail("our own plan was refused: " + again.status().ToString());
  if (!again->valid()) Fail("our own numbers are wrong: " + again->ShortDebugString());
  if (again->objective_ms() != answer->objective_ms()) Fail("the objective changes when it is evaluated again");
}

// Simulations of many micro-batches take too long for many runs a second.
template <typename Message>
void LimitMicroBatches(Message& message) {
  if (message.has_micro_batches()) message.set_micro_batches(std::min(message.micro_batches(), kMaxMicroBatches));
}

void SimulateOnce(v1::SimulatePlanRequest request) {
  LimitMicroBatches(request);
  if (request.has_problem()) LimitMicroBatches(*request.mutable_problem());
  if (request.plan().has_problem()) LimitMicroBatches(*request.mutable_plan()->mutable_problem());
  auto messages = Engine().SimulatePlan(request);
  if (!messages.ok()) {
    if (!absl::IsInvalidArgument(messages.status()))
      Fail("neither simulated nor refused: " + messages.status().ToString());
    return;
  }
  const auto summary = messages->Next();
  if (!summary.has_value() || !summary->has_summary()) Fail("no summary");
  int64_t tasks = 0;
  while (const auto message = messages->Next()) tasks += message->timeline().tasks_size();
  const bool is_full = request.view() == v1::SimulatePlanRequest::VIEW_FULL;
  if (tasks != (is_full ? summary->summary().tasks() : 0)) Fail("the timeline is not complete");
}

}  // namespace
}  // namespace planwright::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  auto request = planwright::ParseTextProto<planwright::v1::SimulatePlanRequest>(data, size);
  if (!request.has_value()) return 0;
  // Models of the zoo are too large as well.
  if (request->has_graph_reference()) request->clear_graph_reference();
  if (request->has_cluster_reference()) request->clear_cluster_reference();
  planwright::server::EvaluateOnce(*request);
  planwright::server::SimulateOnce(*std::move(request));
  return 0;
}
