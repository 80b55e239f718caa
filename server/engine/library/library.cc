#include "server/engine/library/library.h"

#include <google/protobuf/util/message_differencer.h>
#include <google/protobuf/util/time_util.h>

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "core/base/violations.h"
#include "core/model/plan.h"
#include "core/planner/joint/joint_request.h"
#include "server/codec/cluster.h"
#include "server/codec/digest.h"
#include "server/codec/graph.h"
#include "server/codec/plan.h"
#include "server/codec/problem.h"
#include "server/engine/library/page_token.h"
#include "server/engine/library/resource_name.h"

namespace planwright::server {
namespace {

using google::protobuf::util::MessageDifferencer;
using google::protobuf::util::TimeUtil;

constexpr char kMissingPayload[] = "planwright.server/no-store";

// A row that passed its checksum but is no message of ours.
absl::Status NotAMessage(std::string_view name) {
  return absl::DataLossError(absl::StrCat("what is stored as \"", std::string(name), "\" is damaged"));
}

void CheckExpected(std::string_view expected, const std::string& actual, std::string field, Violations& violations) {
  if (expected.empty() || expected == actual) return;
  violations.Add(std::move(field), absl::StrCat("must be ", actual, ", is ", std::string(expected)));
}

// What a list shows of `plan`.
v1::PlanSummary SummaryOf(const v1::Plan& plan, const PlanTask& task) {
  v1::PlanSummary summary;
  summary.set_name(plan.name());
  summary.set_graph_digest(plan.graph_digest());
  summary.set_cluster_digest(plan.cluster_digest());
  summary.set_objective_ms(plan.objective_ms());
  summary.set_relative_gap(plan.relative_gap());
  summary.set_graph_display_name(task.graph->display_name);
  summary.set_cluster_display_name(task.cluster->display_name);
  return summary;
}

// The store knows ids only: what is not there gets the name that the request gave it.
absl::Status WithFullName(const absl::Status& status, std::string_view name) {
  if (!absl::IsNotFound(status)) return status;
  return absl::NotFoundError(absl::StrCat("nothing is stored as \"", ToAbsl(name), "\""));
}

// What `plan` is stored as where nobody has a name for it: the same for the same plan.
std::string IdOfContent(v1::Plan plan) {
  plan.clear_name();
  plan.clear_provenance();
  CanonicalHash hash("planwright.kept.1");
  hash.Add(plan.SerializeAsString());
  return ResourceIdOf(hash);
}

// Problems of older programs lack the fields that they did not know.
bool IsPlanFor(const v1::Plan& plan, const PlanTask& task) {
  if (plan.graph_digest() != task.graph_digest || plan.cluster_digest() != task.cluster_digest) return false;
  const auto problem = ResolvedForm(plan.problem(), *task.graph, *task.cluster);
  return problem.has_value() && MessageDifferencer::Equals(*problem, task.resolved_problem);
}

void WarnOfOtherRules(v1::Plan& plan) {
  const std::optional<std::string> other_rules = OtherRulesWarning(plan);
  if (other_rules.has_value()) plan.add_warnings(*other_rules);
}

// The gap at which a search for the task ends.
double SoughtGap(const PlanTask& task) {
  const double asked = task.options.options.relative_gap;
  return asked == 0 && task.problem.joint.has_value() ? kJointGap * (1 + 1e-9) : asked;
}

// A name stands for one plan, however good, so what was asked for beyond that is not done.
void WarnOfLessEffort(const PlanTask& task, v1::Plan& plan) {
  const v1::Provenance& provenance = plan.provenance();
  // No search of as much work ends nearer.
  const bool is_exhausted = provenance.stop_reason() == v1::STOP_REASON_EXHAUSTED;
  const bool is_near = provenance.proven_optimal() || plan.relative_gap() <= SoughtGap(task);
  if (!task.is_named || is_near || is_exhausted) return;
  plan.add_warnings(absl::StrFormat(
      "this is the plan that is stored as plans/%s, whose gap of %.4g is above the %.4g that is asked for: another "
      "plan_id, or none, searches anew",
      task.plan_id, plan.relative_gap(), SoughtGap(task)));
}

}  // namespace

absl::Status StoreMissing() {
  absl::Status status =
      absl::FailedPreconditionError("this server keeps nothing (--store=none): ask one that has a store");
  status.SetPayload(kMissingPayload, absl::Cord());
  return status;
}

bool IsStoreMissing(const absl::Status& status) { return status.GetPayload(kMissingPayload).has_value(); }

absl::StatusOr<Store*> Library::NeedStore() const {
  if (store_ == nullptr) return StoreMissing();
  return store_;
}

template <typename Message>
absl::StatusOr<Message> Library::Find(const std::string& tenant, DocumentKind kind, std::string_view collection,
                                      std::string_view name, StoreTime* create_time) {
  ASSIGN_OR_RETURN(const std::string id, ResourceId(name, collection, "name"));
  ASSIGN_OR_RETURN(Store * store, NeedStore());
  const absl::StatusOr<Document> found = store->FindDocument(tenant, kind, id);
  if (!found.ok()) return WithFullName(found.status(), name);
  const Document& document = *found;
  Message message;
  if (!message.ParseFromString(document.content)) return NotAMessage(name);
  if (create_time != nullptr) *create_time = document.create_time;
  return message;
}

template <typename Response>
absl::StatusOr<Response> Library::Delete(const std::string& tenant, DocumentKind kind, std::string_view collection,
                                         const std::string& name) {
  ASSIGN_OR_RETURN(const std::string id, ResourceId(name, collection, "name"));
  ASSIGN_OR_RETURN(Store * store, NeedStore());
  RETURN_IF_ERROR(WithFullName(store->DeleteDocument(tenant, kind, id), name));
  return Response();
}

template <typename Response, typename Summary, typename Request>
absl::StatusOr<Response> Library::List(const std::string& tenant, DocumentKind kind, std::string_view collection,
                                       const Request& request, Summary* (Response::*add)()) {
  const std::string query = ResourceName(collection, tenant);
  ASSIGN_OR_RETURN(const Page page, ReadPage({request.page_size(), request.page_token()}, query, NowSeconds()));
  ASSIGN_OR_RETURN(Store * store, NeedStore());
  // One more than asked for tells whether there is a next page.
  ASSIGN_OR_RETURN(auto documents, store->ListDocuments(tenant, kind, page.after, page.size + 1));
  Response response;
  if (std::ssize(documents) > page.size) {
    documents.pop_back();
    response.set_next_page_token(
        NextPageToken({documents.back().create_time, documents.back().id}, query, NowSeconds()));
  }
  for (const DocumentSummary& document : documents) {
    Summary& summary = *(response.*add)();
    // A damaged summary costs its details, not the list.
    if (!summary.ParseFromString(document.summary)) summary.Clear();
    summary.set_name(ResourceName(collection, document.id));
    *summary.mutable_create_time() = TimeUtil::MillisecondsToTimestamp(document.create_time);
  }
  return response;
}

template <typename Summary>
absl::Status Library::Register(const std::string& tenant, DocumentKind kind, const std::string& digest,
                               std::string&& content, Summary& summary) {
  ASSIGN_OR_RETURN(Store * store, NeedStore());
  const Document document{.id = digest, .summary = summary.SerializeAsString(), .content = std::move(content)};
  ASSIGN_OR_RETURN(const PutResult result, store->PutDocument(tenant, kind, document, quota_));
  *summary.mutable_create_time() = TimeUtil::MillisecondsToTimestamp(result.create_time);
  return absl::OkStatus();
}

absl::StatusOr<v1::GetPlanResponse> Library::GetPlan(const std::string& tenant, const v1::GetPlanRequest& request) {
  v1::GetPlanResponse response;
  StoreTime create_time = 0;
  ASSIGN_OR_RETURN(*response.mutable_plan(),
                   Find<v1::Plan>(tenant, DocumentKind::kPlan, kPlans, request.name(), &create_time));
  *response.mutable_create_time() = TimeUtil::MillisecondsToTimestamp(create_time);
  WarnOfOtherRules(*response.mutable_plan());
  return response;
}

absl::StatusOr<v1::ListPlansResponse> Library::ListPlans(const std::string& tenant,
                                                         const v1::ListPlansRequest& request) {
  return List(tenant, DocumentKind::kPlan, kPlans, request, &v1::ListPlansResponse::add_plans);
}

absl::StatusOr<v1::DeletePlanResponse> Library::DeletePlan(const std::string& tenant,
                                                           const v1::DeletePlanRequest& request) {
  return Delete<v1::DeletePlanResponse>(tenant, DocumentKind::kPlan, kPlans, request.name());
}

absl::StatusOr<std::string> Library::CheckedDigest(const v1::Graph& graph, std::string_view expected) const {
  Violations violations;
  const OperatorGraph decoded = DecodeGraph(graph, violations);
  ValidateGraph(decoded, limits_.Get(), violations);
  RETURN_IF_ERROR(violations.ToStatus());
  std::string digest = GraphDigest(decoded);
  CheckExpected(expected, digest, "header.expected_digest", violations);
  RETURN_IF_ERROR(violations.ToStatus());
  return digest;
}

absl::StatusOr<v1::RegisterGraphResponse> Library::RegisterGraph(const std::string& tenant, v1::Graph graph,
                                                                 std::string_view expected_digest) {
  ASSIGN_OR_RETURN(const std::string digest, CheckedDigest(graph, expected_digest));
  v1::RegisterGraphResponse response;
  v1::GraphSummary& summary = *response.mutable_graph();
  summary.set_name(ResourceName(kGraphs, digest));
  summary.set_display_name(graph.display_name());
  summary.set_operators(graph.operators_size());
  summary.set_tensors(graph.tensors_size());
  std::string content = graph.SerializeAsString();
  graph = v1::Graph();
  RETURN_IF_ERROR(Register(tenant, DocumentKind::kGraph, digest, std::move(content), summary));
  return response;
}

absl::StatusOr<v1::ListGraphsResponse> Library::ListGraphs(const std::string& tenant,
                                                           const v1::ListGraphsRequest& request) {
  return List(tenant, DocumentKind::kGraph, kGraphs, request, &v1::ListGraphsResponse::add_graphs);
}

absl::StatusOr<v1::DeleteGraphResponse> Library::DeleteGraph(const std::string& tenant,
                                                             const v1::DeleteGraphRequest& request) {
  return Delete<v1::DeleteGraphResponse>(tenant, DocumentKind::kGraph, kGraphs, request.name());
}

absl::StatusOr<v1::RegisterClusterResponse> Library::RegisterCluster(const std::string& tenant,
                                                                     const v1::RegisterClusterRequest& request) {
  Violations violations;
  const Cluster decoded = DecodeCluster(request.cluster(), limits_.Get().max_devices, violations);
  ValidateCluster(decoded, limits_.Get(), violations);
  RETURN_IF_ERROR(violations.ToStatus());
  const std::string digest = ClusterDigest(decoded);
  CheckExpected(request.expected_digest(), digest, "expected_digest", violations);
  RETURN_IF_ERROR(violations.ToStatus());
  v1::RegisterClusterResponse response;
  v1::ClusterSummary& summary = *response.mutable_cluster();
  summary.set_name(ResourceName(kClusters, digest));
  summary.set_display_name(decoded.display_name);
  summary.set_devices(static_cast<int32_t>(decoded.devices.size()));
  RETURN_IF_ERROR(Register(tenant, DocumentKind::kCluster, digest, request.cluster().SerializeAsString(), summary));
  return response;
}

absl::StatusOr<v1::ListClustersResponse> Library::ListClusters(const std::string& tenant,
                                                               const v1::ListClustersRequest& request) {
  return List(tenant, DocumentKind::kCluster, kClusters, request, &v1::ListClustersResponse::add_clusters);
}

absl::StatusOr<v1::DeleteClusterResponse> Library::DeleteCluster(const std::string& tenant,
                                                                 const v1::DeleteClusterRequest& request) {
  return Delete<v1::DeleteClusterResponse>(tenant, DocumentKind::kCluster, kClusters, request.name());
}

absl::StatusOr<v1::Graph> Library::FindGraph(const std::string& tenant, std::string_view name) {
  return Find<v1::Graph>(tenant, DocumentKind::kGraph, kGraphs, name);
}

absl::StatusOr<v1::Cluster> Library::FindCluster(const std::string& tenant, std::string_view name) {
  return Find<v1::Cluster>(tenant, DocumentKind::kCluster, kClusters, name);
}

absl::StatusOr<std::optional<v1::Plan>> Library::FindKeptPlan(const std::string& tenant, const PlanTask& task) {
  if (!task.is_to_be_kept) return std::nullopt;
  if (!task.plan_id.empty() && !IsResourceId(task.plan_id)) {
    Violations violations;
    violations.Add("plan_id",
                   absl::StrCat("must be 4 to 63 lower-case letters, digits and hyphens, first a letter, last "
                                "no hyphen, is \"",
                                task.plan_id.substr(0, 100), "\""));
    return violations.ToStatus();
  }
  ASSIGN_OR_RETURN(Store * store, NeedStore());
  // Better to hear of a lost store before the search than after it.
  if (task.plan_id.empty()) {
    RETURN_IF_ERROR(store->Check());
    return std::nullopt;
  }
  auto kept = Find<v1::Plan>(tenant, DocumentKind::kPlan, kPlans, ResourceName(kPlans, task.plan_id));
  if (kept.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  RETURN_IF_ERROR(kept.status());
  if (!IsPlanFor(*kept, task)) {
    return absl::AlreadyExistsError(
        absl::StrCat("plans/", task.plan_id, " is a plan for another problem: choose another plan_id"));
  }
  if (kept->cost_model_version() < kCostModelVersion) return std::nullopt;
  WarnOfOtherRules(*kept);
  WarnOfLessEffort(task, *kept);
  return *std::move(kept);
}

absl::Status Library::KeepPlan(const std::string& tenant, const PlanTask& task, v1::Plan& plan) {
  if (!task.is_to_be_kept) return absl::OkStatus();
  ASSIGN_OR_RETURN(Store * store, NeedStore());
  const std::string id = task.plan_id.empty() ? IdOfContent(plan) : task.plan_id;
  plan.set_name(ResourceName(kPlans, id));
  const Document document{
      .id = id, .summary = SummaryOf(plan, task).SerializeAsString(), .content = plan.SerializeAsString()};
  ASSIGN_OR_RETURN(const PutResult result, store->PutDocument(tenant, DocumentKind::kPlan, document, quota_));
  if (result.was_put || task.plan_id.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::optional<v1::Plan> kept, FindKeptPlan(tenant, task));
  if (!kept.has_value()) return store->ReplaceDocument(tenant, DocumentKind::kPlan, document);
  plan = *std::move(kept);
  return absl::OkStatus();
}

}  // namespace planwright::server
