// Metrics, the access log and the audit log of one RPC, in one object.
#ifndef PLANWRIGHT_SERVER_SERVICE_RECORD_RPC_RECORD_H_
#define PLANWRIGHT_SERVER_SERVICE_RECORD_RPC_RECORD_H_

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "server/observability/audit_log.h"
#include "server/observability/log.h"
#include "server/observability/metrics.h"
#include "server/service/record/call_trace.h"
#include "server/service/record/search_log.h"
#include "server/serving/callers/call_registry.h"
#include "server/serving/callers/caller.h"

namespace planwright::server {

// Counts the call when made, and its code and time when destroyed; then writes its line of the access log. Not
// thread-safe. `metrics` and `log` outlive it.
class RpcRecord {
 public:
  RpcRecord(RpcMethod method, std::string request_id, std::string peer, Metrics& metrics, const Logger& log);
  ~RpcRecord();
  RpcRecord(const RpcRecord&) = delete;
  RpcRecord& operator=(const RpcRecord&) = delete;

  // The status that the call ends with; INTERNAL until set.
  void SetStatus(const absl::Status& status) { status_ = status; }

  // The tenant whose call it is, and by which name it was known.
  void SetCaller(const Caller& caller) { caller_ = caller; }
  // The caller is who SetCaller says.
  void SetKnown() { is_known_ = true; }
  // Tells `audit`, which outlives the record, of a call that changes something or is refused.
  void SetAudit(AuditLog& audit) { audit_ = &audit; }
  // The call's place among those that have not been answered; given up with the record.
  void SetPlace(std::unique_ptr<CallRegistry::Place> place) { place_ = std::move(place); }
  // A thread works on the call from now on.
  void SetRunning() const;
  // What the call changes ("plans/bert-4"), whose it is where that is not the caller's, and what else there is to say.
  void SetResource(std::string name) { resource_ = std::move(name); }
  void SetResourceOwner(std::string tenant) { resource_owner_ = std::move(tenant); }
  void SetDetails(std::string details) { details_ = std::move(details); }
  // The trace that it is part of.
  void SetTraceId(std::string trace_id) { trace_id_ = std::move(trace_id); }
  // What a collector is told of it when it has ended.
  void SetTrace(std::shared_ptr<CallTrace> trace) { trace_ = std::move(trace); }
  // nullptr: nobody is told.
  const std::shared_ptr<CallTrace>& trace() const { return trace_; }
  // What was asked for (plan_key.h), and how the answer was come by.
  void SetPlanKey(std::string key) { plan_key_ = std::move(key); }
  void SetPlanSource(std::string source) { plan_source_ = std::move(source); }

  const std::string& plan_key() const { return plan_key_; }
  const std::string& peer() const { return peer_; }
  const std::string& request_id() const { return request_id_; }
  // For the logs of the call's searches.
  SearchOrigin search_origin() const;

 private:
  void WriteAudit(const std::string& code) const;

  RpcMethod method_;
  std::string request_id_;
  std::string peer_;
  Metrics& metrics_;
  const Logger& log_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Caller caller_;
  std::string trace_id_;
  std::shared_ptr<CallTrace> trace_;
  std::string plan_key_;
  std::string plan_source_;
  bool is_known_ = false;
  AuditLog* audit_ = nullptr;
  std::unique_ptr<CallRegistry::Place> place_;
  std::string resource_;
  std::string resource_owner_;
  std::string details_;
  absl::Status status_ = absl::InternalError("not answered");
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_RECORD_RPC_RECORD_H_
