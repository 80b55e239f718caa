#include "server/engine/planning_engine.h"

#include <google/protobuf/util/message_differencer.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/status_macros.h"
#include "core/planner/planner.h"
#include "server/codec/cluster.h"
#include "server/codec/digest.h"
#include "server/codec/graph.h"
#include "server/codec/plan.h"
#include "server/codec/problem.h"
#include "server/engine/request_input.h"
#include "server/engine/server_info.h"

namespace planwright::server {
namespace {

using google::protobuf::util::MessageDifferencer;
using Clock = SolveLimits::Clock;

// Plans in their wire form, with the digests of their graph and cluster, which are computed once. Not thread-safe.
class AnswerEncoder {
 public:
  AnswerEncoder(const OperatorGraph& graph, const Cluster& cluster) : graph_(graph), cluster_(cluster) {}

  v1::Plan Encode(const Plan& plan) {
    v1::Plan wire = EncodePlan(plan, graph_, cluster_);
    wire.set_graph_digest(graph_digest());
    wire.set_cluster_digest(cluster_digest());
    return wire;
  }

  const std::string& graph_digest() {
    if (graph_digest_.empty()) graph_digest_ = GraphDigest(graph_);
    return graph_digest_;
  }
  const std::string& cluster_digest() {
    if (cluster_digest_.empty()) cluster_digest_ = ClusterDigest(cluster_);
    return cluster_digest_;
  }

 private:
  const OperatorGraph& graph_;
  const Cluster& cluster_;
  std::string graph_digest_;
  std::string cluster_digest_;
};

// Hands the planner's events to a SearchObserver, plans in their wire form.
class EventRelay final : public PlannerObserver {
 public:
  EventRelay(SearchObserver& observer, AnswerEncoder& encoder) : observer_(observer), encoder_(encoder) {}

  void OnPhase(std::string_view phase) override { observer_.OnPhase(phase); }
  void OnIncumbent(const Incumbent& incumbent) override { observer_.OnIncumbent(incumbent); }
  void OnBound(const Bound& bound) override { observer_.OnBound(bound); }
  bool wants_incumbent_plans() const override { return observer_.wants_incumbent_plans(); }
  void OnIncumbentPlan(const Plan& plan) override { observer_.OnIncumbentAnswer(encoder_.Encode(plan)); }

 private:
  SearchObserver& observer_;
  AnswerEncoder& encoder_;
};

// Tells the observer of the two ends of the search around MakePlan.
absl::StatusOr<Plan> Search(const PlanRequest& request, const ModelLimits& model_limits, const SolveLimits& limits,
                            TaskArena& arena, AnswerEncoder& encoder, SearchObserver& observer) {
  const Clock::time_point start = Clock::now();
  observer.OnSearchStart({.operators = request.graph.operators.size(),
                          .tensors = request.graph.tensors.size(),
                          .devices = request.cluster.devices.size(),
                          .time_limit = limits.deadline - start});
  EventRelay relay(observer, encoder);
  absl::StatusOr<Plan> plan = MakePlan(request, model_limits, limits, arena, relay);
  observer.OnSearchEnd(plan, Clock::now() - start);
  return plan;
}

// What a call that only judges may spend.
SolveLimits LimitsOf(const CallContext& context) {
  SolveLimits limits;
  limits.deadline = context.deadline.value_or(limits.deadline);
  limits.stop = context.stop;
  return limits;
}

void CheckDigest(const std::string& stated, const std::string& actual, const char* path, const char* noun,
                 Violations& violations) {
  if (stated.empty() || stated == actual) return;
  violations.Add(path, "the plan was made for another " + std::string(noun) + ": must be " + actual + ", is " + stated);
}

// Whether `problem` is the one that the plan says it was made for, once every default is filled in. A plan that does
// not say is taken at its word.
bool IsMadeFor(const v1::Plan& plan, const PlanRequest& request) {
  if (!plan.has_problem()) return true;
  Violations violations;
  const PlanningProblem own =
      DecodeProblem(plan.problem(), request.graph, request.cluster, FieldPath("plan").Field("problem"), violations);
  if (!violations.empty()) return false;
  const auto resolved = [&](const PlanningProblem& any) {
    return EncodeProblem(ResolveProblem(request.graph, any), request.graph, request.cluster);
  };
  return MessageDifferencer::Equals(resolved(own), resolved(request.problem));
}

// Every violation of the plan itself; its placement is costed where that is possible. What it states is judged where it
// was made for the same problem.
absl::StatusOr<v1::EvaluatePlanResponse> Judge(const v1::Plan& plan, const PlanRequest& request,
                                               const ModelLimits& model_limits, const SolveLimits& limits,
                                               AnswerEncoder& encoder) {
  Violations violations;
  const Placement placement = DecodePlacement(plan, request.graph, request.cluster, violations);
  ASSIGN_OR_RETURN(const Verdict verdict, EvaluatePlacement(request, model_limits, placement, limits));
  v1::EvaluatePlanResponse response;
  // A placement with names left out is not the one that was sent: nothing else is said about it.
  const bool understood = violations.empty();
  if (understood) violations = verdict.violations;
  if (understood && verdict.costed.has_value()) {
    *response.mutable_plan() = encoder.Encode(*verdict.costed);
    response.set_objective_ms(response.plan().objective_ms());
    if (IsMadeFor(plan, request)) CheckStatedNumbers(plan, response.plan(), violations);
  }
  response.set_valid(violations.empty());
  for (const Violation& violation : violations.listed()) {
    v1::PlanViolation& wire = *response.add_violations();
    wire.set_field(violation.path);
    wire.set_description(violation.rule);
  }
  return response;
}

}  // namespace

PlanningEngine::PlanningEngine(EngineConfig config) : config_(std::move(config)), arena_(config_.cpus) {}

template <typename Request>
absl::StatusOr<v1::Plan> PlanningEngine::MakeWirePlan(const Request& request, const CallContext& context) {
  Violations violations;
  ASSIGN_OR_RETURN(const RequestInput input, ReadInput(request, config_.model_limits, violations));
  return PlanInput(input.graph, input.cluster, request.problem(), request.options(), context, violations);
}

absl::StatusOr<v1::Plan> PlanningEngine::PlanInput(const OperatorGraph& graph, const Cluster& cluster,
                                                   const v1::PlanningProblem& wire_problem,
                                                   const v1::SolverOptions& wire_options, const CallContext& context,
                                                   Violations& violations) {
  const PlanningProblem problem = DecodeProblem(wire_problem, graph, cluster, FieldPath("problem"), violations);
  const DecodedOptions decoded = DecodeOptions(wire_options, violations);
  RETURN_IF_ERROR(CheckDecoded(graph, cluster, config_.model_limits, violations));

  SolveLimits limits;
  limits.deadline =
      SearchDeadline(Clock::now(), decoded.time_limit, context.deadline, config_.time_limits, context.searches_left);
  limits.work = decoded.options.work_limit.value_or(limits.work);
  limits.memory_bytes = config_.memory_budget_bytes / config_.max_running;
  limits.stop = context.stop;

  SearchObserver silent;
  AnswerEncoder encoder(graph, cluster);
  ASSIGN_OR_RETURN(const Plan plan, Search({graph, cluster, problem, decoded.options}, config_.model_limits, limits,
                                           arena_, encoder, context.observer != nullptr ? *context.observer : silent));
  return encoder.Encode(plan);
}

absl::StatusOr<v1::Plan> PlanningEngine::PlanEntry(const v1::BatchCreatePlansRequest::Entry& entry,
                                                   const std::optional<OperatorGraph>& graph, const Cluster& cluster,
                                                   const CallContext& context) {
  Violations violations;
  if (graph.has_value() && entry.graph_source_case() == v1::BatchCreatePlansRequest::Entry::GRAPH_SOURCE_NOT_SET) {
    return PlanInput(*graph, cluster, entry.problem(), entry.options(), context, violations);
  }
  ASSIGN_OR_RETURN(const OperatorGraph own_graph, ReadGraph(entry, violations));
  return PlanInput(own_graph, cluster, entry.problem(), entry.options(), context, violations);
}

absl::StatusOr<v1::CreatePlanResponse> PlanningEngine::CreatePlan(const v1::CreatePlanRequest& request,
                                                                  const CallContext& context) {
  v1::CreatePlanResponse response;
  ASSIGN_OR_RETURN(*response.mutable_plan(), MakeWirePlan(request, context));
  return response;
}

absl::StatusOr<v1::StreamPlanResponse> PlanningEngine::StreamPlan(const v1::StreamPlanRequest& request,
                                                                  const CallContext& context) {
  v1::StreamPlanResponse response;
  ASSIGN_OR_RETURN(*response.mutable_plan(), MakeWirePlan(request, context));
  return response;
}

absl::StatusOr<v1::EvaluatePlanResponse> PlanningEngine::EvaluatePlan(const v1::EvaluatePlanRequest& request,
                                                                      const CallContext& context) const {
  Violations violations;
  ASSIGN_OR_RETURN(const RequestInput input, ReadInput(request, config_.model_limits, violations));
  if (!request.has_plan()) violations.Add("plan", "must be set");
  const FieldPath plan_path("plan");
  const PlanningProblem problem =
      request.has_problem()
          ? DecodeProblem(request.problem(), input.graph, input.cluster, FieldPath("problem"), violations)
          : DecodeProblem(request.plan().problem(), input.graph, input.cluster, plan_path.Field("problem"), violations);
  RETURN_IF_ERROR(CheckDecoded(input.graph, input.cluster, config_.model_limits, violations));
  AnswerEncoder encoder(input.graph, input.cluster);
  CheckDigest(request.plan().graph_digest(), encoder.graph_digest(), "plan.graph_digest", "graph", violations);
  CheckDigest(request.plan().cluster_digest(), encoder.cluster_digest(), "plan.cluster_digest", "cluster", violations);
  RETURN_IF_ERROR(violations.ToStatus());
  return Judge(request.plan(), {input.graph, input.cluster, problem, SolverOptions{}}, config_.model_limits,
               LimitsOf(context), encoder);
}

absl::StatusOr<v1::GetGraphResponse> PlanningEngine::GetGraph(const v1::GetGraphRequest& request) const {
  ASSIGN_OR_RETURN(const OperatorGraph graph, NamedGraph(request.name()));
  v1::GetGraphResponse response;
  *response.mutable_graph() = EncodeGraph(graph);
  return response;
}

absl::StatusOr<v1::GetClusterResponse> PlanningEngine::GetCluster(const v1::GetClusterRequest& request) const {
  ASSIGN_OR_RETURN(const Cluster cluster, NamedCluster(request.name()));
  v1::GetClusterResponse response;
  *response.mutable_cluster() = EncodeCluster(cluster);
  return response;
}

v1::GetServerInfoResponse PlanningEngine::GetServerInfo() const { return MakeServerInfo(config_); }

absl::StatusOr<std::string> PlanningEngine::WriteProgram(const v1::CreatePlanRequest& request, ProgramFormat format,
                                                         ProgramForm form) const {
  Violations violations;
  ASSIGN_OR_RETURN(const RequestInput input, ReadInput(request, config_.model_limits, violations));
  const PlanningProblem problem =
      DecodeProblem(request.problem(), input.graph, input.cluster, FieldPath("problem"), violations);
  const DecodedOptions decoded = DecodeOptions(request.options(), violations);
  RETURN_IF_ERROR(CheckDecoded(input.graph, input.cluster, config_.model_limits, violations));
  return WriteIntegerProgram({input.graph, input.cluster, problem, decoded.options}, config_.model_limits, format,
                             form);
}

}  // namespace planwright::server
