#include "server/engine/operations/operations.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/units.h"
#include "core/base/violations.h"
#include "server/engine/library/page_token.h"
#include "server/engine/library/resource_name.h"
#include "server/engine/operations/operation_codec.h"
#include "server/engine/operations/sweep_grid.h"
#include "server/engine/operations/sweep_rows.h"
#include "server/serving/callers/caller.h"

namespace planwright::server {
namespace {

// Names of requests stand in logs, too.
void CheckRequestId(const std::string& id, Violations& violations) {
  if (!id.empty() && !IsPlainName(id))
    violations.Add("request_id", "must be at most 64 letters, digits, hyphens and underscores");
}

// Answers repeat the settings of every row.
void CheckSettings(const v1::SweepPlansRequest& request, int64_t most_bytes, Violations& violations) {
  int64_t bytes = 0;
  for (const v1::DeviceSelection& set : request.device_sets()) bytes += static_cast<int64_t>(set.ByteSizeLong());
  const int64_t rows_of_a_set = GridSize(request) / std::max(request.device_sets_size(), 1);
  if (SaturatingMultiply(bytes, rows_of_a_set) <= most_bytes) return;
  violations.Add("device_sets", absl::StrCat("must take at most ", most_bytes,
                                             " bytes in all rows together: name fewer devices, or make fewer rows"));
}

void CheckSweep(const v1::SweepPlansRequest& request, const EngineConfig& config, Violations& violations) {
  const int64_t most = config.max_batch_size;
  CheckRequestId(request.request_id(), violations);
  const int64_t size = GridSize(request);
  if (size > most) {
    violations.Add("num_stages",
                   absl::StrCat("and the other lists must have at most ", most, " combinations, have ", size));
  } else {
    CheckSettings(request, config.max_message_bytes, violations);
  }
  if (request.plan_request().store() || !request.plan_request().plan_id().empty()) {
    violations.Add("plan_request.plan_id", "must not be set, nor store: each row keeps its plan anyway");
  }
}

}  // namespace

absl::StatusOr<Store*> Operations::NeedStore() const {
  if (store_ == nullptr) return StoreMissing();
  return store_;
}

absl::Status Operations::CheckRequest(const std::string& tenant, const v1::CreatePlanRequest& request) {
  const CallContext context{.tenant = tenant};
  ASSIGN_OR_RETURN(const PlanTask task, engine_.ReadTask(request, context));
  RETURN_IF_ERROR(planwright::CheckRequest({*task.graph, *task.cluster, task.problem, task.options.options},
                                           engine_.model_limits()));
  return engine_.library().FindKeptPlan(tenant, task).status();
}

absl::StatusOr<v1::Operation> Operations::Submit(const std::string& tenant, const Submission& submission) {
  ASSIGN_OR_RETURN(Store * store, NeedStore());
  ASSIGN_OR_RETURN(const Operation operation, store->Submit(tenant, submission, engine_.config().quota));
  on_submit_();
  return operation.has_rows ? Read(tenant, operation.id) : EncodeOperation(operation);
}

absl::StatusOr<v1::SubmitPlanResponse> Operations::SubmitPlan(const std::string& tenant,
                                                              const v1::SubmitPlanRequest& request) {
  RETURN_IF_ERROR(NeedStore().status());
  Violations violations;
  CheckRequestId(request.request_id(), violations);
  if (!request.has_plan_request()) violations.Add("plan_request", "must be set");
  RETURN_IF_ERROR(violations.ToStatus());
  RETURN_IF_ERROR(CheckRequest(tenant, request.plan_request()));
  v1::SubmitPlanResponse response;
  ASSIGN_OR_RETURN(*response.mutable_operation(),
                   Submit(tenant, {.operation = {.id = MakeResourceId(), .request = ToBytes(request.plan_request())},
                                   .rows = {},
                                   .request_id = request.request_id()}));
  return response;
}

absl::StatusOr<v1::CreatePlanRequest> Operations::Registered(const std::string& tenant,
                                                             const v1::CreatePlanRequest& request) {
  v1::CreatePlanRequest registered = request;
  if (request.has_graph()) {
    ASSIGN_OR_RETURN(const auto stored,
                     engine_.library().RegisterGraph(tenant, std::move(*registered.mutable_graph()), ""));
    registered.set_graph_reference(stored.graph().name());
  }
  if (request.has_cluster()) {
    v1::RegisterClusterRequest registration;
    *registration.mutable_cluster() = request.cluster();
    ASSIGN_OR_RETURN(const auto stored, engine_.library().RegisterCluster(tenant, registration));
    registered.set_cluster_reference(stored.cluster().name());
  }
  return registered;
}

absl::StatusOr<v1::SweepPlansResponse> Operations::SweepPlans(const std::string& tenant,
                                                              const v1::SweepPlansRequest& request) {
  RETURN_IF_ERROR(NeedStore().status());
  Violations violations;
  CheckSweep(request, engine_.config(), violations);
  RETURN_IF_ERROR(violations.ToStatus());
  // What only some rows break is told by these rows.
  RETURN_IF_ERROR(engine_.ReadTask(request.plan_request(), {.tenant = tenant}).status());
  v1::SweepPlansRequest stored = request;
  ASSIGN_OR_RETURN(*stored.mutable_plan_request(), Registered(tenant, request.plan_request()));
  Submission submission{.operation = {.id = MakeResourceId(), .request = ToBytes(stored)},
                        .rows = {},
                        .request_id = request.request_id()};
  for (int64_t i = 0; i < GridSize(request); ++i) {
    submission.rows.push_back({.id = MakeResourceId(), .request = RowBytes(i)});
  }
  v1::SweepPlansResponse response;
  ASSIGN_OR_RETURN(*response.mutable_operation(), Submit(tenant, submission));
  return response;
}

absl::StatusOr<v1::Operation> Operations::Read(const std::string& tenant, const std::string& id) {
  ASSIGN_OR_RETURN(Store * store, NeedStore());
  ASSIGN_OR_RETURN(const Operation operation, store->FindOperation(tenant, id, OperationView::kFull));
  v1::Operation wire = EncodeOperation(operation);
  if (!operation.has_rows) return wire;
  v1::SweepPlansRequest request;
  if (!request.ParseFromString(operation.request)) return absl::DataLossError("the stored grid is damaged");
  ASSIGN_OR_RETURN(const std::vector<Operation> rows, store->ListRows(tenant, id));
  v1::SweepResult& sweep = *wire.mutable_sweep();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    *sweep.add_rows() = EncodeRow(rows[i], GridSettings(request, static_cast<int64_t>(i)));
    sweep.set_ended(sweep.ended() + (server::HasEnded(rows[i].state) ? 1 : 0));
  }
  RankRows(sweep);
  return wire;
}

absl::StatusOr<v1::GetOperationResponse> Operations::GetOperation(const std::string& tenant,
                                                                  const v1::GetOperationRequest& request) {
  ASSIGN_OR_RETURN(const std::string id, ResourceId(request.name(), kOperations, "name"));
  v1::GetOperationResponse response;
  ASSIGN_OR_RETURN(*response.mutable_operation(), Read(tenant, id));
  return response;
}

absl::StatusOr<v1::ListOperationsResponse> Operations::ListOperations(const std::string& tenant,
                                                                      const v1::ListOperationsRequest& request) {
  OperationFilter filter{.state = FromWire(request.state())};
  if (!filter.state.has_value() && request.state() != v1::Operation::STATE_UNSPECIFIED) {
    Violations violations;
    violations.Add("state", absl::StrCat("unknown value ", static_cast<int>(request.state())));
    return violations.ToStatus();
  }
  if (!request.sweep().empty()) {
    ASSIGN_OR_RETURN(filter.parent, ResourceId(request.sweep(), kOperations, "sweep"));
  }
  const std::string query =
      absl::StrCat("operations/", tenant, "/", filter.parent, "/", static_cast<int>(request.state()));
  ASSIGN_OR_RETURN(const Page page, ReadPage({request.page_size(), request.page_token()}, query, NowSeconds()));
  ASSIGN_OR_RETURN(Store * store, NeedStore());
  // One more than asked for tells whether there is a next page.
  ASSIGN_OR_RETURN(auto operations, store->ListOperations(tenant, filter, page.after, page.size + 1));
  v1::ListOperationsResponse response;
  if (std::ssize(operations) > page.size) {
    operations.pop_back();
    response.set_next_page_token(
        NextPageToken({operations.back().create_time, operations.back().id}, query, NowSeconds()));
  }
  for (const Operation& operation : operations) *response.add_operations() = EncodeOperation(operation);
  return response;
}

absl::StatusOr<v1::ListTenantOperationsResponse> Operations::ListTenantOperations(
    const v1::ListTenantOperationsRequest& request) {
  const OperationFilter filter{.state = FromWire(request.state())};
  if (!filter.state.has_value() && request.state() != v1::Operation::STATE_UNSPECIFIED) {
    Violations violations;
    violations.Add("state", absl::StrCat("unknown value ", static_cast<int>(request.state())));
    return violations.ToStatus();
  }
  const std::string query =
      absl::StrCat("tenant-operations/", request.tenant(), "/", static_cast<int>(request.state()));
  ASSIGN_OR_RETURN(const Page page, ReadPage({request.page_size(), request.page_token()}, query, NowSeconds()));
  ASSIGN_OR_RETURN(Store * store, NeedStore());
  const std::string tenant = request.tenant() == "-" ? "" : request.tenant();
  // One more than asked for tells whether there is a next page.
  ASSIGN_OR_RETURN(auto operations, store->ListOperations(tenant, filter, page.after, page.size + 1));
  v1::ListTenantOperationsResponse response;
  if (std::ssize(operations) > page.size) {
    operations.pop_back();
    response.set_next_page_token(
        NextPageToken({operations.back().create_time, operations.back().id}, query, NowSeconds()));
  }
  for (const Operation& operation : operations) {
    v1::TenantOperation& listed = *response.add_operations();
    listed.set_tenant(operation.tenant);
    *listed.mutable_operation() = EncodeOperation(operation);
  }
  return response;
}

absl::StatusOr<v1::CancelOperationResponse> Operations::CancelOperation(const std::string& tenant,
                                                                        const v1::CancelOperationRequest& request) {
  ASSIGN_OR_RETURN(const std::string id, ResourceId(request.name(), kOperations, "name"));
  ASSIGN_OR_RETURN(Store * store, NeedStore());
  RETURN_IF_ERROR(store->RequestCancel(tenant, id));
  v1::CancelOperationResponse response;
  ASSIGN_OR_RETURN(*response.mutable_operation(), Read(tenant, id));
  return response;
}

absl::StatusOr<bool> Operations::HasEnded(const std::string& tenant, const std::string& name) {
  ASSIGN_OR_RETURN(const std::string id, ResourceId(name, kOperations, "name"));
  ASSIGN_OR_RETURN(Store * store, NeedStore());
  ASSIGN_OR_RETURN(const Operation operation, store->FindOperation(tenant, id, OperationView::kShort));
  return server::HasEnded(operation.state);
}

}  // namespace planwright::server
