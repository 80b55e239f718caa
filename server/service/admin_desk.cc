#include "server/service/admin_desk.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "core/base/violations.h"
#include "server/engine/library/resource_name.h"

namespace planwright::server {
namespace {

using google::protobuf::util::TimeUtil;

constexpr std::string_view kCalls = "calls/";
constexpr int kMostListed = 1000;
constexpr int kUsuallyListed = 100;

v1::CallInfo Encode(const CallRegistry::Entry& entry) {
  const LiveCall& call = *entry.call;
  v1::CallInfo info;
  info.set_name(ResourceName(kCalls, entry.id));
  info.set_tenant(call.origin().tenant);
  info.set_caller(call.origin().caller);
  info.set_method(call.origin().method);
  info.set_request_id(call.origin().request_id);
  info.set_peer(call.origin().peer);
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(LiveCall::Clock::now() - call.start());
  *info.mutable_age() = TimeUtil::MillisecondsToDuration(age.count());
  info.set_state(call.is_running() ? v1::CallInfo::STATE_RUNNING : v1::CallInfo::STATE_WAITING);
  info.set_cancel_requested(call.is_ended());
  return info;
}

v1::TenantLimits Encode(const TenantLimits& limits) {
  constexpr int kUnlimited = std::numeric_limits<int>::max();
  v1::TenantLimits wire;
  wire.set_weight(limits.weight);
  if (limits.max_running != kUnlimited) wire.set_max_running(limits.max_running);
  if (limits.max_waiting != kUnlimited) wire.set_max_waiting(limits.max_waiting);
  if (std::isfinite(limits.requests_per_second)) wire.set_requests_per_second(limits.requests_per_second);
  wire.set_burst(limits.burst);
  return wire;
}

// A number of the request, where it is set.
std::optional<double> Within(bool is_set, double value, double least, double most, std::string field,
                             Violations& violations) {
  if (!is_set) return std::nullopt;
  // Not a number is in no range.
  if (!(value >= least && value <= most)) {
    violations.Add(std::move(field), absl::StrCat("must be from ", least, " to ", most, ", is ", value));
  }
  return value;
}

std::optional<int> AtLeastZero(bool is_set, int value, std::string field, Violations& violations) {
  if (!is_set) return std::nullopt;
  if (value < 0) violations.Add(std::move(field), absl::StrCat("must be >= 0, is ", value));
  return value;
}

void CheckTenant(std::string_view tenant, Violations& violations) {
  constexpr std::size_t kMaxBytes = 256;
  if (tenant.empty() || tenant.size() > kMaxBytes || tenant == "-") {
    violations.Add("tenant", absl::StrCat("must be the name of one tenant, at most ", kMaxBytes, " bytes"));
  }
}

absl::Status OneTenant(std::string_view tenant) {
  Violations violations;
  CheckTenant(tenant, violations);
  return violations.ToStatus();
}

LimitChange Decode(const v1::TenantLimits& wire, Violations& violations) {
  constexpr double kLeast = 1e-3;
  constexpr double kMost = 1e6;
  return {.weight = Within(wire.has_weight(), wire.weight(), kLeast, kMost, "limits.weight", violations),
          .max_running = AtLeastZero(wire.has_max_running(), wire.max_running(), "limits.max_running", violations),
          .max_waiting = AtLeastZero(wire.has_max_waiting(), wire.max_waiting(), "limits.max_waiting", violations),
          .requests_per_second = Within(wire.has_requests_per_second(), wire.requests_per_second(), kLeast, kMost,
                                        "limits.requests_per_second", violations),
          .burst = Within(wire.has_burst(), wire.burst(), 1, kMost, "limits.burst", violations)};
}

// A page of one of the three lists as items.
template <typename Response>
v1::ListTenantItemsResponse ItemsOf(const Response& page) {
  v1::ListTenantItemsResponse response;
  response.set_next_page_token(page.next_page_token());
  const auto add = [&response](const auto& summary) {
    v1::TenantItem& item = *response.add_items();
    item.set_name(summary.name());
    *item.mutable_create_time() = summary.create_time();
    if constexpr (requires { summary.display_name(); }) {
      item.set_display_name(summary.display_name());
    } else {
      item.set_display_name(summary.graph_display_name());
    }
  };
  if constexpr (requires { page.plans(); }) {
    for (const auto& summary : page.plans()) add(summary);
  } else if constexpr (requires { page.graphs(); }) {
    for (const auto& summary : page.graphs()) add(summary);
  } else {
    for (const auto& summary : page.clusters()) add(summary);
  }
  return response;
}

// One of the lists of the library, for a tenant.
template <typename Request, typename Response>
absl::StatusOr<v1::ListTenantItemsResponse> ListOf(Library& library,
                                                   absl::StatusOr<Response> (Library::*list)(const std::string& tenant,
                                                                                             const Request& request),
                                                   const v1::ListTenantItemsRequest& request) {
  Request inner;
  inner.set_page_size(request.page_size());
  inner.set_page_token(request.page_token());
  ASSIGN_OR_RETURN(const Response page, (library.*list)(request.tenant(), inner));
  return ItemsOf(page);
}

}  // namespace

absl::StatusOr<v1::ListCallsResponse> AdminDesk::ListCalls(const v1::ListCallsRequest& request) const {
  if (request.page_size() < 0) {
    Violations violations;
    violations.Add("page_size", absl::StrCat("must be >= 0, is ", request.page_size()));
    return violations.ToStatus();
  }
  const int most = request.page_size() == 0 ? kUsuallyListed : std::min(request.page_size(), kMostListed);
  v1::ListCallsResponse response;
  for (const CallRegistry::Entry& entry : services_.calls.List(request.tenant())) {
    response.set_total_calls(response.total_calls() + 1);
    if (response.calls_size() < most) *response.add_calls() = Encode(entry);
  }
  return response;
}

absl::StatusOr<v1::CancelCallResponse> AdminDesk::CancelCall(const v1::CancelCallRequest& request) const {
  ASSIGN_OR_RETURN(const std::string id, ResourceId(request.name(), kCalls, "name"));
  const std::optional<CallRegistry::Entry> entry = services_.calls.Cancel(id);
  if (!entry.has_value()) {
    return absl::NotFoundError(
        absl::StrCat(request.name(), " has ended, or another server has it: ListCalls says what runs here"));
  }
  v1::CancelCallResponse response;
  *response.mutable_call() = Encode(*entry);
  return response;
}

absl::StatusOr<v1::ListTenantsResponse> AdminDesk::ListTenants(const v1::ListTenantsRequest& request) const {
  std::set<std::string> names;
  if (!request.tenant().empty()) {
    RETURN_IF_ERROR(OneTenant(request.tenant()));
    names.insert(request.tenant());
  } else {
    for (const auto& [name, limits] : services_.tenants.state().table.named) names.insert(name);
    for (const auto& [name, count] : services_.calls.Counts()) names.insert(name);
    for (const auto& [name, usage] : services_.usage.Get()) names.insert(name);
    for (const std::string& name : services_.authenticator.Tenants()) names.insert(name);
  }
  v1::ListTenantsResponse response;
  response.set_total_tenants(static_cast<int32_t>(names.size()));
  for (const std::string& name : names) {
    if (response.tenants_size() == kMostListed) break;
    *response.add_tenants() = InfoOf(name);
  }
  return response;
}

absl::StatusOr<v1::SetTenantLimitsResponse> AdminDesk::SetTenantLimits(
    const v1::SetTenantLimitsRequest& request) const {
  Violations violations;
  CheckTenant(request.tenant(), violations);
  const LimitChange change = Decode(request.limits(), violations);
  RETURN_IF_ERROR(violations.ToStatus());
  RETURN_IF_ERROR(services_.tenants.Set(request.tenant(), change));
  v1::SetTenantLimitsResponse response;
  *response.mutable_tenant() = InfoOf(request.tenant());
  return response;
}

absl::StatusOr<v1::ResetTenantLimitsResponse> AdminDesk::ResetTenantLimits(
    const v1::ResetTenantLimitsRequest& request) const {
  RETURN_IF_ERROR(OneTenant(request.tenant()));
  services_.tenants.Reset(request.tenant());
  v1::ResetTenantLimitsResponse response;
  *response.mutable_tenant() = InfoOf(request.tenant());
  return response;
}

absl::StatusOr<v1::ListTenantOperationsResponse> AdminDesk::ListTenantOperations(
    const v1::ListTenantOperationsRequest& request) const {
  if (request.tenant() != "-") RETURN_IF_ERROR(OneTenant(request.tenant()));
  return services_.operations.ListTenantOperations(request);
}

absl::StatusOr<v1::GetTenantOperationResponse> AdminDesk::GetTenantOperation(
    const v1::GetTenantOperationRequest& request) const {
  RETURN_IF_ERROR(OneTenant(request.tenant()));
  v1::GetOperationRequest get;
  get.set_name(request.name());
  ASSIGN_OR_RETURN(v1::GetOperationResponse got, services_.operations.GetOperation(request.tenant(), get));
  v1::GetTenantOperationResponse response;
  *response.mutable_operation() = std::move(*got.mutable_operation());
  return response;
}

absl::StatusOr<v1::CancelTenantOperationResponse> AdminDesk::CancelTenantOperation(
    const v1::CancelTenantOperationRequest& request) const {
  RETURN_IF_ERROR(OneTenant(request.tenant()));
  v1::CancelOperationRequest cancel;
  cancel.set_name(request.name());
  ASSIGN_OR_RETURN(v1::CancelOperationResponse cancelled,
                   services_.operations.CancelOperation(request.tenant(), cancel));
  v1::CancelTenantOperationResponse response;
  *response.mutable_operation() = std::move(*cancelled.mutable_operation());
  return response;
}

absl::StatusOr<v1::ListTenantItemsResponse> AdminDesk::ListTenantItems(
    const v1::ListTenantItemsRequest& request) const {
  RETURN_IF_ERROR(OneTenant(request.tenant()));
  Library& library = services_.engine.library();
  if (request.kind() == "plans") return ListOf(library, &Library::ListPlans, request);
  if (request.kind() == "graphs") return ListOf(library, &Library::ListGraphs, request);
  if (request.kind() == "clusters") return ListOf(library, &Library::ListClusters, request);
  Violations violations;
  violations.Add("kind", R"(must be "plans", "graphs" or "clusters")");
  return violations.ToStatus();
}

absl::StatusOr<v1::DeleteTenantItemResponse> AdminDesk::DeleteTenantItem(
    const v1::DeleteTenantItemRequest& request) const {
  RETURN_IF_ERROR(OneTenant(request.tenant()));
  Library& library = services_.engine.library();
  const auto named = [&request](auto message) {
    message.set_name(request.name());
    return message;
  };
  absl::Status deleted;
  if (absl::StartsWith(request.name(), ToAbsl(kGraphs))) {
    deleted = library.DeleteGraph(request.tenant(), named(v1::DeleteGraphRequest())).status();
  } else if (absl::StartsWith(request.name(), ToAbsl(kClusters))) {
    deleted = library.DeleteCluster(request.tenant(), named(v1::DeleteClusterRequest())).status();
  } else {
    deleted = library.DeletePlan(request.tenant(), named(v1::DeletePlanRequest())).status();
  }
  RETURN_IF_ERROR(deleted);
  services_.answers.Forget(request.tenant(), request.name());
  return v1::DeleteTenantItemResponse();
}

v1::TenantInfo AdminDesk::InfoOf(const std::string& tenant) const {
  v1::TenantInfo info;
  info.set_name(tenant);
  const TenantOverrides::State limits = services_.tenants.state();
  *info.mutable_limits() = Encode(limits.table.Of(tenant));
  info.set_has_set_limits(limits.changes.contains(tenant));
  const std::map<std::string, CallRegistry::Count> counts = services_.calls.Counts();
  if (const auto calls = counts.find(tenant); calls != counts.end()) {
    info.set_running_calls(calls->second.running);
    info.set_waiting_calls(calls->second.waiting);
  }
  const StoredUsage::ByTenant usage = services_.usage.Get();
  if (const auto stored = usage.find(tenant); stored != usage.end()) {
    info.set_stored_items(stored->second.documents);
    info.set_stored_bytes(stored->second.bytes);
    info.set_pending_operations(stored->second.pending_operations);
  }
  return info;
}

}  // namespace planwright::server
