#include "client/library/remote_planning_client.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_interceptor.h>
#include <grpcpp/support/interceptor.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/library/plan_stream.h"
#include "client/library/unary_call.h"
#include "client/library/wire_status.h"

namespace planwright::client {
namespace {

constexpr int kMaxMessageBytes = 64 << 20;

// Only UNAVAILABLE is safe and useful to retry blindly; every call here is idempotent.
constexpr char kServiceConfig[] = R"({
  "loadBalancingConfig": [{"round_robin": {}}],
  "methodConfig": [{
    "name": [{"service": "planwright.v1.PlanningService"}, {"service": "planwright.v1.AdminService"}],
    "retryPolicy": {
      "maxAttempts": 4,
      "initialBackoff": "0.1s",
      "maxBackoff": "2s",
      "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }]
})";

using Metadata = std::vector<std::pair<std::string, std::string>>;

// Adds the same metadata to every call. Call credentials would do that over TLS only.
class MetadataInterceptor final : public grpc::experimental::Interceptor {
 public:
  // `metadata` outlives the interceptor.
  explicit MetadataInterceptor(const Metadata& metadata) : metadata_(metadata) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(grpc::experimental::InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->insert(metadata_.begin(), metadata_.end());
    }
    methods->Proceed();
  }

 private:
  const Metadata& metadata_;
};

class MetadataInterceptorFactory final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit MetadataInterceptorFactory(Metadata metadata) : metadata_(std::move(metadata)) {}

  grpc::experimental::Interceptor* CreateClientInterceptor(grpc::experimental::ClientRpcInfo* /*info*/) override {
    return new MetadataInterceptor(metadata_);
  }

 private:
  const Metadata metadata_;
};

// nullptr: the token is none that can be sent.
std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const ServerConnection& connection) {
  if (!IsMetadataText(connection.token)) return nullptr;
  if (!connection.use_tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = connection.ca_certificates;
  options.pem_cert_chain = connection.certificate_chain;
  options.pem_private_key = connection.private_key;
  return grpc::SslCredentials(options);
}

// What goes with every call. Whatever has bytes that metadata cannot have is left out.
Metadata MetadataOf(const ServerConnection& connection) {
  const auto is_to_be_sent = [](const std::string& value) { return !value.empty() && IsMetadataText(value); };
  Metadata metadata;
  if (is_to_be_sent(connection.token)) metadata.emplace_back("authorization", "Bearer " + connection.token);
  if (is_to_be_sent(connection.traceparent)) metadata.emplace_back("traceparent", connection.traceparent);
  return metadata;
}

// Where the credentials are none, every call fails at once, with INVALID_ARGUMENT.
std::shared_ptr<grpc::Channel> MakeChannel(const ServerConnection& connection) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetServiceConfigJSON(kServiceConfig);
  Metadata metadata = MetadataOf(connection);
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptors;
  if (!metadata.empty()) interceptors.push_back(std::make_unique<MetadataInterceptorFactory>(std::move(metadata)));
  return grpc::experimental::CreateCustomChannelWithInterceptors(connection.address, CredentialsOf(connection),
                                                                 arguments, std::move(interceptors));
}

}  // namespace

RemotePlanningClient::RemotePlanningClient(const ServerConnection& connection)
    : RemotePlanningClient(MakeChannel(connection)) {}

absl::StatusOr<v1::CreatePlanResponse> RemotePlanningClient::CreatePlan(const v1::CreatePlanRequest& request,
                                                                        const CallOptions& options) {
  // Streams keep nothing.
  const bool is_to_be_kept = request.store() || !request.plan_id().empty();
  if (!is_to_be_kept && (options.progress != nullptr || options.stop.stop_possible())) {
    auto streamed = CreatePlanByStream(*stub_, request, options);
    if (streamed.status().code() != absl::StatusCode::kUnimplemented) return streamed;
  }
  return Call(*stub_, &v1::PlanningService::Stub::CreatePlan, request, options);
}

absl::StatusOr<v1::BatchCreatePlansResponse> RemotePlanningClient::BatchCreatePlans(
    const v1::BatchCreatePlansRequest& request, const CallOptions& options) {
  return Call(*stub_, &v1::PlanningService::Stub::BatchCreatePlans, request, options);
}

absl::StatusOr<v1::EvaluatePlanResponse> RemotePlanningClient::EvaluatePlan(const v1::EvaluatePlanRequest& request,
                                                                            const CallOptions& options) {
  return Call(*stub_, &v1::PlanningService::Stub::EvaluatePlan, request, options);
}

absl::Status RemotePlanningClient::SimulatePlan(const v1::SimulatePlanRequest& request, const CallOptions& options,
                                                const SimulationListener& listener) {
  grpc::ClientContext context;
  context.set_deadline(options.deadline);
  const std::stop_callback cancel(options.stop, [&context] { context.TryCancel(); });
  const auto stream = stub_->SimulatePlan(&context, request);
  v1::SimulatePlanResponse message;
  while (stream->Read(&message)) listener(std::exchange(message, {}));
  return ToAbslStatus(stream->Finish());
}

absl::StatusOr<v1::GetGraphResponse> RemotePlanningClient::GetGraph(const v1::GetGraphRequest& request,
                                                                    const CallOptions& options) {
  return Call(*stub_, &v1::PlanningService::Stub::GetGraph, request, options);
}

absl::StatusOr<v1::GetClusterResponse> RemotePlanningClient::GetCluster(const v1::GetClusterRequest& request,
                                                                        const CallOptions& options) {
  return Call(*stub_, &v1::PlanningService::Stub::GetCluster, request, options);
}

absl::StatusOr<v1::GetServerInfoResponse> RemotePlanningClient::GetServerInfo(const v1::GetServerInfoRequest& request,
                                                                              const CallOptions& options) {
  return Call(*stub_, &v1::PlanningService::Stub::GetServerInfo, request, options);
}

}  // namespace planwright::client
