#include "server/pages/plan_pages.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/page/page.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "core/base/violations.h"
#include "server/codec/cluster.h"
#include "server/codec/digest.h"
#include "server/codec/graph.h"
#include "server/engine/library/resource_name.h"
#include "server/engine/task_memory.h"

namespace planwright::server {
namespace {

// More than a page draws of a step; the others are counted only.
constexpr int kMostTasks = 50'000;

// What the page draws of a step.
struct DrawnStep {
  client::Simulation simulation;
  int64_t more_tasks = 0;
};

DrawnStep Drawn(SimulationMessages messages) {
  DrawnStep step;
  while (std::optional<v1::SimulatePlanResponse> message = messages.Next()) {
    if (message->has_summary()) step.simulation.summary = std::move(*message->mutable_summary());
    if (!message->has_timeline()) continue;
    if (step.simulation.timeline.tasks_size() < kMostTasks) {
      step.simulation.timeline.MergeFrom(message->timeline());
    } else {
      step.more_tasks += message->timeline().tasks_size();
    }
  }
  return step;
}

// What a page says in place of its timeline where the plan's own inputs are not there.
std::string LackText(bool has_graph, bool has_cluster) {
  const char* lacking = has_graph ? "cluster" : has_cluster ? "graph" : "graph and cluster";
  return absl::StrCat("The server keeps the plan without its ", lacking,
                      ", so the page lacks what only these tell: register them (planwright register), with the "
                      "digests that the plan states.");
}

absl::Status WithoutWhatIsNotThere(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

}  // namespace

absl::Status CheckPagesAreBuilt() {
  if (client::HasPages()) return absl::OkStatus();
  return absl::UnimplementedError("this build makes no pages: npm was not there when it was built");
}

absl::StatusOr<PageAnswer> PlanPages::Make(const std::string& tenant, const std::string& id,
                                           const std::stop_token& stop) const {
  ASSIGN_OR_RETURN(const Parts parts, Collect(tenant, id));
  const v1::Graph no_graph;
  const v1::Cluster no_cluster;
  client::PagePlan page_plan{.title = parts.title,
                             .plan = parts.plan,
                             .graph = parts.graph.has_value() ? *parts.graph : no_graph,
                             .cluster = parts.cluster.has_value() ? *parts.cluster : no_cluster,
                             .no_simulation = ""};
  DrawnStep step;
  if (!parts.graph.has_value() || !parts.cluster.has_value()) {
    page_plan.no_simulation = LackText(parts.graph.has_value(), parts.cluster.has_value());
  } else {
    absl::StatusOr<SimulationMessages> simulated = Simulate(tenant, parts.plan, *parts.graph, *parts.cluster, stop);
    if (stop.stop_requested()) return absl::CancelledError("nobody waits for the page any more");
    if (simulated.ok()) {
      step = Drawn(*std::move(simulated));
      page_plan.simulation = &step.simulation;
      page_plan.more_tasks = step.more_tasks;
    } else {
      page_plan.no_simulation = absl::StrCat("The simulator does not run this plan: ", simulated.status().message());
    }
  }
  return PageAnswer{.code = 200,
                    .html = client::PageText(std::array{page_plan}),
                    .policy = client::PagePolicy(),
                    .retry_after = std::nullopt};
}

absl::StatusOr<PlanPages::Parts> PlanPages::Collect(const std::string& tenant, const std::string& id) const {
  v1::GetPlanRequest request;
  request.set_name(ResourceName(kPlans, id));
  ASSIGN_OR_RETURN(v1::GetPlanResponse found, engine_.library().GetPlan(tenant, request));
  Parts parts{.plan = std::move(*found.mutable_plan()), .title = request.name(), .graph = {}, .cluster = {}};
  // Where a summary is damaged, the names are not known; the digests are those of the plan.
  v1::PlanSummary summary;
  ASSIGN_OR_RETURN(const Document document, store_.FindDocument(tenant, DocumentKind::kPlan, id));
  if (!summary.ParseFromString(document.summary)) summary.Clear();
  summary.set_graph_digest(parts.plan.graph_digest());
  summary.set_cluster_digest(parts.plan.cluster_digest());
  ASSIGN_OR_RETURN(parts.graph, FindGraph(tenant, summary));
  ASSIGN_OR_RETURN(parts.cluster, FindCluster(tenant, summary));
  if (!summary.graph_display_name().empty()) absl::StrAppend(&parts.title, ": ", summary.graph_display_name());
  if (!summary.cluster_display_name().empty()) absl::StrAppend(&parts.title, " on ", summary.cluster_display_name());
  return parts;
}

absl::StatusOr<std::optional<v1::Graph>> PlanPages::FindGraph(const std::string& tenant,
                                                              const v1::PlanSummary& summary) const {
  auto registered = engine_.library().FindGraph(tenant, ResourceName(kGraphs, summary.graph_digest()));
  if (registered.ok()) return *std::move(registered);
  RETURN_IF_ERROR(WithoutWhatIsNotThere(registered.status()));
  Violations violations;
  const auto of_zoo =
      engine_.NamesFor(tenant).FindGraph(absl::StrCat("zoo:", summary.graph_display_name()), "name", violations);
  if (!of_zoo.ok() || !violations.empty() || GraphDigest(*of_zoo) != summary.graph_digest()) return std::nullopt;
  return EncodeGraph(*of_zoo);
}

absl::StatusOr<std::optional<v1::Cluster>> PlanPages::FindCluster(const std::string& tenant,
                                                                  const v1::PlanSummary& summary) const {
  auto registered = engine_.library().FindCluster(tenant, ResourceName(kClusters, summary.cluster_digest()));
  if (registered.ok()) return *std::move(registered);
  RETURN_IF_ERROR(WithoutWhatIsNotThere(registered.status()));
  Violations violations;
  const auto of_zoo = engine_.NamesFor(tenant).FindCluster(absl::StrCat("zoo:", summary.cluster_display_name()), "name",
                                                           engine_.model_limits(), violations);
  if (!of_zoo.ok() || !violations.empty() || ClusterDigest(*of_zoo) != summary.cluster_digest()) return std::nullopt;
  return EncodeCluster(*of_zoo);
}

absl::StatusOr<SimulationMessages> PlanPages::Simulate(const std::string& tenant, const v1::Plan& plan,
                                                       const v1::Graph& graph, const v1::Cluster& cluster,
                                                       const std::stop_token& stop) const {
  v1::SimulatePlanRequest request;
  *request.mutable_graph() = graph;
  *request.mutable_cluster() = cluster;
  *request.mutable_plan() = plan;
  *request.mutable_problem() = plan.problem();
  request.set_view(v1::SimulatePlanRequest::VIEW_FULL);
  CallContext call;
  call.deadline = SolveLimits::Clock::now() + limits_.simulation_time;
  call.stop = stop;
  call.tenant = tenant;
  ASSIGN_OR_RETURN(const GivenPlan given, engine_.ReadGivenPlan(request, call));
  if (EstimateMemory(given) > limits_.simulation_bytes) {
    return absl::ResourceExhaustedError("it needs more memory than pages may take");
  }
  ASSIGN_OR_RETURN(SimulationMessages messages, engine_.SimulatePlan(request, given, call));
  if (messages.bytes() > limits_.simulation_bytes) {
    return absl::ResourceExhaustedError("its step needs more memory than pages may take");
  }
  return messages;
}

}  // namespace planwright::server
