#include "server/service/record/rpc_record.h"

#include <utility>

#include "core/base/strings.h"
#include "server/service/record/method_roles.h"
#include "server/service/record/status_conversion.h"

namespace planwright::server {

RpcRecord::RpcRecord(RpcMethod method, std::string request_id, std::string peer, Metrics& metrics, const Logger& log)
    : method_(std::move(method)),
      request_id_(std::move(request_id)),
      peer_(std::move(peer)),
      metrics_(metrics),
      log_(log) {
  metrics_.RpcStarted(method_);
}

RpcRecord::~RpcRecord() {
  const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - start_;
  const std::string code = CodeLabel(status_.code());
  metrics_.RpcHandled(method_, code, elapsed);
  metrics_.tenants().CallHandled(is_known_ ? caller_.tenant : "", code);
  if (audit_ != nullptr) WriteAudit(code);
  // Messages can be long lists of violations; the first line says what went wrong.
  const std::string_view message = ToStd(status_.message());
  const std::string error(message.substr(0, message.find('\n')).substr(0, 300));
  if (trace_ != nullptr) {
    trace_->End(method_.service + "/" + method_.method, status_.ok() ? "" : code + ": " + error,
                {{"rpc.system", "grpc"},
                 {"rpc.service", method_.service},
                 {"rpc.method", method_.method},
                 {"rpc.grpc.status_code", std::to_string(static_cast<int>(status_.code()))},
                 {"planwright.tenant", caller_.tenant},
                 {"planwright.request_id", request_id_},
                 {"planwright.plan_source", plan_source_}});
  }
  log_.Write(status_.code() == absl::StatusCode::kInternal ? Severity::kError : Severity::kInfo, "rpc",
             {{"request_id", request_id_},
              {"method", method_.method},
              {"code", code},
              {"duration_ms", std::chrono::duration<double, std::milli>(elapsed).count()},
              {"peer", peer_},
              {"trace_id", trace_id_},
              {"tenant", caller_.tenant},
              {"subject", caller_.subject},
              {"plan_key", plan_key_},
              {"plan_source", plan_source_},
              {"error", error}});
}

void RpcRecord::SetRunning() const {
  if (place_ != nullptr) place_->call()->SetRunning();
}

SearchOrigin RpcRecord::search_origin() const {
  return {request_id_, caller_.tenant, place_ != nullptr ? place_->call() : nullptr};
}

void RpcRecord::WriteAudit(const std::string& code) const {
  const bool is_refused = absl::IsUnauthenticated(status_) || absl::IsPermissionDenied(status_);
  const Change change = ChangeOf(method_.method);
  const bool is_change = change == Change::kAlways || (change == Change::kWhereNamed && !resource_.empty());
  if (!is_refused && !is_change) return;
  const AuditEntry entry{.action = method_.method,
                         .resource = resource_,
                         .tenant = resource_owner_.empty() ? caller_.tenant : resource_owner_,
                         .outcome = code,
                         .caller = caller_.subject,
                         .caller_tenant = is_known_ ? caller_.tenant : "",
                         .role = is_known_ ? NameOf(caller_.role) : "",
                         .peer = peer_,
                         .request_id = request_id_,
                         .details = details_};
  return is_refused ? audit_->Refused(entry) : audit_->Changed(entry);
}

}  // namespace planwright::server
