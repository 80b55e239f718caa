// A client of the integration tests, one tenant.
#ifndef PLANWRIGHT_TESTS_INTEGRATION_CALLER_H_
#define PLANWRIGHT_TESTS_INTEGRATION_CALLER_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "planwright/v1/planning_service.grpc.pb.h"

namespace planwright {

using Stub = v1::PlanningService::Stub;

// Calls as one tenant.
class Caller {
 public:
  explicit Caller(const std::string& address, std::string tenant = "")
      : stub_(v1::PlanningService::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))),
        tenant_(std::move(tenant)) {}

  template <typename Request, typename Response>
  grpc::Status operator()(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                          const Request& request, Response& response) {
    grpc::ClientContext context;
    Prepare(context);
    return (*stub_.*method)(&context, request, &response);
  }

  grpc::Status RegisterGraph(const std::vector<v1::RegisterGraphRequest>& messages,
                             v1::RegisterGraphResponse& response) {
    grpc::ClientContext context;
    Prepare(context);
    const auto writer = stub_->RegisterGraph(&context, &response);
    for (const v1::RegisterGraphRequest& message : messages) {
      if (!writer->Write(message)) break;
    }
    writer->WritesDone();
    return writer->Finish();
  }

  grpc::Status CreatePlan(const v1::CreatePlanRequest& request, v1::Plan& plan) {
    v1::CreatePlanResponse response;
    const grpc::Status status = (*this)(&v1::PlanningService::Stub::CreatePlan, request, response);
    plan = response.plan();
    return status;
  }

  grpc::Status GetPlan(const std::string& name, v1::Plan& plan) {
    v1::GetPlanRequest request;
    request.set_name(name);
    v1::GetPlanResponse response;
    const grpc::Status status = (*this)(&v1::PlanningService::Stub::GetPlan, request, response);
    plan = response.plan();
    return status;
  }

 private:
  void Prepare(grpc::ClientContext& context) const {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    if (!tenant_.empty()) context.AddMetadata("x-planwright-tenant", tenant_);
  }

  std::unique_ptr<v1::PlanningService::Stub> stub_;
  std::string tenant_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_INTEGRATION_CALLER_H_
