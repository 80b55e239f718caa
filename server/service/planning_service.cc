#include "server/service/planning_service.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security_constants.h>

#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/service/call/call_messages.h"
#include "server/service/methods/batch_plan_call.h"
#include "server/service/methods/create_plan_call.h"
#include "server/service/methods/evaluate_plan_call.h"
#include "server/service/methods/simulate_plan_call.h"
#include "server/service/methods/stream_plan_call.h"
#include "server/service/record/method_roles.h"
#include "server/service/record/status_conversion.h"
#include "server/service/record/trace_context.h"
#include "server/serving/callers/caller.h"

namespace planwright::server {
namespace {

// gRPC's deadline as steady time; nullopt: none, or so far away that it might as well be none.
std::optional<Executor::Clock::time_point> DeadlineOf(const grpc::CallbackServerContext& context) {
  constexpr std::chrono::hours kForever{24 * 365};
  const std::chrono::system_clock::time_point now = std::chrono::system_clock::now();
  if (context.deadline() > now + kForever) return std::nullopt;
  return Executor::Clock::now() + (context.deadline() - now);
}

// The bytes of a value of the call's metadata; nullopt: there is none.
std::optional<std::string_view> Metadata(const grpc::CallbackServerContext& context, const char* key) {
  const auto sent = context.client_metadata().find(key);
  if (sent == context.client_metadata().end()) return std::nullopt;
  return std::string_view(sent->second.data(), sent->second.size());
}

// A value of the call's metadata that is fit for logs; nullopt: none, or one that is not.
std::optional<std::string> SensibleMetadata(const grpc::CallbackServerContext& context, const char* key) {
  const std::optional<std::string_view> id = Metadata(context, key);
  return id.has_value() && IsPlainName(*id) ? std::optional<std::string>(*id) : std::nullopt;
}

// The values of a property of whom the transport has verified.
std::vector<std::string> PeerProperty(const grpc::AuthContext& peer, const char* property) {
  std::vector<std::string> values;
  for (const grpc::string_ref& value : peer.FindPropertyValues(property))
    values.emplace_back(value.data(), value.size());
  return values;
}

// The names in the client's certificate, kind by kind.
std::vector<CertificateName> CertificateNames(const grpc::AuthContext& peer) {
  constexpr std::pair<NameKind, const char*> kProperties[] = {{NameKind::kUri, GRPC_PEER_URI_PROPERTY_NAME},
                                                              {NameKind::kDns, GRPC_PEER_DNS_PROPERTY_NAME},
                                                              {NameKind::kEmail, GRPC_PEER_EMAIL_PROPERTY_NAME},
                                                              {NameKind::kIp, GRPC_PEER_IP_PROPERTY_NAME},
                                                              {NameKind::kCommonName, GRPC_X509_CN_PROPERTY_NAME}};
  std::vector<CertificateName> names;
  for (const auto& [kind, property] : kProperties) {
    for (const std::string& value : PeerProperty(peer, property)) {
      if (std::optional<CertificateName> name = NormalName(kind, value)) names.push_back(*std::move(name));
    }
  }
  return names;
}

// The client's certificate and those that it has sent along.
std::vector<std::string> Certificates(const grpc::AuthContext& peer) {
  std::vector<std::string> certificates = PeerProperty(peer, GRPC_X509_PEM_CERT_PROPERTY_NAME);
  for (std::string& chain : PeerProperty(peer, GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME)) {
    if (!chain.empty()) certificates.push_back(std::move(chain));
  }
  return certificates;
}

absl::StatusOr<Caller> IdentifyCaller(const Authenticator& authenticator, const grpc::CallbackServerContext& context) {
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  const bool has_certificate = peer != nullptr && peer->IsPeerAuthenticated();
  const auto names = has_certificate ? CertificateNames(*peer) : std::vector<CertificateName>();
  const auto certificates = has_certificate ? Certificates(*peer) : std::vector<std::string>();
  const std::optional<std::string> tenant = SensibleMetadata(context, "x-planwright-tenant");
  return authenticator.Identify({.authorization = Metadata(context, "authorization"),
                                 .certificate_names = names,
                                 .certificates = certificates,
                                 .stated_tenant = tenant});
}

// Ends the call whatever its reactor does, with a status that its client gets.
UnsentAnswers::GiveUp EndingOf(grpc::CallbackServerContext& context, const Logger& log, const std::string& request_id) {
  grpc_call_ref(context.c_call());
  const std::shared_ptr<grpc_call> call(context.c_call(), &grpc_call_unref);
  return [call, &log, request_id](const absl::Status& why) {
    const grpc::Status status = ToGrpcStatus(why);
    log.Warning("answer not read", {{"request_id", request_id}, {"error", status.error_message()}});
    grpc_call_cancel_with_status(call.get(), static_cast<grpc_status_code>(status.error_code()),
                                 status.error_message().c_str(), nullptr);
  };
}

absl::Status CheckRole(const char* method, const Caller& caller) {
  if (caller.role >= RoleNeeded(method)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(method, " needs the role ", NameOf(RoleNeeded(method)), ", the caller has ", NameOf(caller.role)));
}

}  // namespace

PlanningServiceImpl::PlanningServiceImpl(const CallServices& services)
    : services_(services), request_id_prefix_(absl::StrCat(absl::Hex(std::random_device()(), absl::kZeroPad8), "-")) {
  Refresh();
}

void PlanningServiceImpl::Refresh() {
  grpc::ByteBuffer info;
  // Always can be encoded.
  WriteMessage(services_.engine.GetServerInfo(), info).IgnoreError();
  const std::lock_guard lock(info_mutex_);
  server_info_ = info;
}

grpc::ServerUnaryReactor* PlanningServiceImpl::CreatePlan(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  // The call deletes itself (OnDone).
  return (new CreatePlanCall(services_, Begin("CreatePlan", *context), *request, *response))->Start();
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* PlanningServiceImpl::StreamPlan(grpc::CallbackServerContext* context,
                                                                            const grpc::ByteBuffer* request) {
  // The call deletes itself (OnDone).
  return (new StreamPlanCall(services_, Begin("StreamPlan", *context, "server_stream"), *request))->Start();
}

grpc::ServerUnaryReactor* PlanningServiceImpl::BatchCreatePlans(grpc::CallbackServerContext* context,
                                                                const grpc::ByteBuffer* request,
                                                                grpc::ByteBuffer* response) {
  // The call deletes itself (OnDone).
  return (new BatchPlanCall(services_, Begin("BatchCreatePlans", *context), *request, *response))->Start();
}

grpc::ServerUnaryReactor* PlanningServiceImpl::EvaluatePlan(grpc::CallbackServerContext* context,
                                                            const grpc::ByteBuffer* request,
                                                            grpc::ByteBuffer* response) {
  // The call deletes itself (OnDone).
  return (new EvaluatePlanCall(services_, Begin("EvaluatePlan", *context), *request, *response))->Start();
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* PlanningServiceImpl::SimulatePlan(grpc::CallbackServerContext* context,
                                                                              const grpc::ByteBuffer* request) {
  // The call deletes itself (OnDone).
  return (new SimulatePlanCall(services_, Begin("SimulatePlan", *context, "server_stream"), *request))->Start();
}

grpc::ServerUnaryReactor* PlanningServiceImpl::GetServerInfo(grpc::CallbackServerContext* context,
                                                             const grpc::ByteBuffer* /*request*/,
                                                             grpc::ByteBuffer* response) {
  const CallStart start = Begin("GetServerInfo", *context);
  start.record->SetStatus(start.permitted);
  if (start.permitted.ok()) {
    const std::lock_guard lock(info_mutex_);
    *response = server_info_;
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(start.permitted));
  return reactor;
}

CallStart PlanningServiceImpl::Begin(const char* method, grpc::CallbackServerContext& context, const char* type,
                                     const char* service) {
  CallStart start;
  start.record = std::make_unique<RpcRecord>(RpcMethod{service, method, type}, RequestId(context), context.peer(),
                                             services_.metrics, services_.log);
  start.deadline = DeadlineOf(context);
  absl::StatusOr<Caller> caller = IdentifyCaller(services_.authenticator, context);
  start.permitted = caller.status();
  const bool is_known = caller.ok();
  if (is_known) {
    start.caller = *std::move(caller);
    start.permitted = CheckRole(method, start.caller);
  }
  start.record->SetCaller(start.caller);
  services_.connections.Delivered(start.record->peer(), 0);
  if (start.permitted.ok()) services_.connections.Identified(start.record->peer());
  start.give_up = EndingOf(context, services_.log, start.record->request_id());
  start.record->SetAudit(services_.audit);
  if (is_known) start.record->SetKnown();
  if (start.permitted.ok()) {
    start.record->SetPlace(services_.calls.Add({.tenant = start.caller.tenant,
                                                .caller = start.caller.subject,
                                                .method = method,
                                                .request_id = start.record->request_id(),
                                                .peer = context.peer()},
                                               start.stop));
  }
  context.AddInitialMetadata("x-request-id", start.record->request_id());
  const std::optional<std::string_view> traceparent = Metadata(context, "traceparent");
  const std::optional<TraceContext> trace = traceparent.has_value() ? TraceContextOf(*traceparent) : std::nullopt;
  if (trace.has_value()) {
    start.record->SetTraceId(trace->trace_id);
    context.AddInitialMetadata("traceparent", std::string(*traceparent));
  }
  // A trace that its beginner does not keep would be kept in part.
  if (services_.spans != nullptr && (!trace.has_value() || trace->is_sampled)) {
    start.record->SetTrace(std::make_shared<CallTrace>(trace, *services_.spans));
  }
  if (services_.log.level() == Severity::kDebug) {
    services_.log.Debug("rpc started", {{"request_id", start.record->request_id()},
                                        {"method", std::string(method)},
                                        {"peer", context.peer()},
                                        {"tenant", start.caller.tenant}});
  }
  return start;
}

std::string PlanningServiceImpl::RequestId(const grpc::CallbackServerContext& context) {
  return SensibleMetadata(context, "x-request-id").value_or(absl::StrCat(request_id_prefix_, ++calls_));
}

}  // namespace planwright::server
