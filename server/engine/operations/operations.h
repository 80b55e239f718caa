// Long-running planning: what callers submit and ask for. Who runs it: operation_work.h.
#ifndef PLANWRIGHT_SERVER_ENGINE_OPERATIONS_OPERATIONS_H_
#define PLANWRIGHT_SERVER_ENGINE_OPERATIONS_OPERATIONS_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "planwright/v1/admin_service.pb.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/engine/planning_engine.h"
#include "server/store/store.h"

namespace planwright::server {

// Thread-safe; every call blocks on the store. Errors of each: those of its RPC, and FAILED_PRECONDITION
// (IsStoreMissing) where there is no store.
class Operations {
 public:
  // Both outlive the object; `store`: nullptr, there is none. `on_submit`: told when there is something to run.
  Operations(PlanningEngine& engine, Store* store, std::function<void()> on_submit)
      : engine_(engine), store_(store), on_submit_(std::move(on_submit)) {}

  absl::StatusOr<v1::SubmitPlanResponse> SubmitPlan(const std::string& tenant, const v1::SubmitPlanRequest& request);
  absl::StatusOr<v1::SweepPlansResponse> SweepPlans(const std::string& tenant, const v1::SweepPlansRequest& request);
  absl::StatusOr<v1::GetOperationResponse> GetOperation(const std::string& tenant,
                                                        const v1::GetOperationRequest& request);
  absl::StatusOr<v1::ListOperationsResponse> ListOperations(const std::string& tenant,
                                                            const v1::ListOperationsRequest& request);
  absl::StatusOr<v1::CancelOperationResponse> CancelOperation(const std::string& tenant,
                                                              const v1::CancelOperationRequest& request);
  // ListOperations of a tenant, each with its owner; `tenant` "-": of all tenants.
  absl::StatusOr<v1::ListTenantOperationsResponse> ListTenantOperations(const v1::ListTenantOperationsRequest& request);
  // Whether the operation has ended; cheap.
  absl::StatusOr<bool> HasEnded(const std::string& tenant, const std::string& name);

 private:
  absl::StatusOr<Store*> NeedStore() const;
  // INVALID_ARGUMENT, NOT_FOUND: CreatePlan would refuse the request.
  absl::Status CheckRequest(const std::string& tenant, const v1::CreatePlanRequest& request);
  // The request with graph and cluster registered, so that many rows can name them.
  absl::StatusOr<v1::CreatePlanRequest> Registered(const std::string& tenant, const v1::CreatePlanRequest& request);
  absl::StatusOr<v1::Operation> Read(const std::string& tenant, const std::string& id);
  absl::StatusOr<v1::Operation> Submit(const std::string& tenant, const Submission& submission);

  PlanningEngine& engine_;
  Store* const store_;
  const std::function<void()> on_submit_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_OPERATIONS_OPERATIONS_H_
