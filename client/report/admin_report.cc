#include "client/report/admin_report.h"

#include <google/protobuf/util/time_util.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/report/enum_text.h"
#include "client/report/quantities.h"
#include "client/report/store_report.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

using google::protobuf::util::TimeUtil;

// "0.4 s", "75 s", "12 min".
std::string AgeText(const google::protobuf::Duration& age) {
  const double seconds = static_cast<double>(TimeUtil::DurationToMilliseconds(age)) / 1000;
  if (seconds < 10) return absl::StrFormat("%.1f s", seconds);
  return seconds < 600 ? absl::StrFormat("%.0f s", seconds) : absl::StrFormat("%.0f min", seconds / 60);
}

std::string CallStateText(const v1::CallInfo& call) {
  const std::string state = EnumText(v1::CallInfo::State_Name(call.state()), "STATE_");
  return call.cancel_requested() ? state + ", cancelled" : state;
}

// "and 12 more"; empty: everything is listed.
std::string RestText(int total, int listed) {
  return total > listed ? absl::StrCat("and ", total - listed, " more\n") : "";
}

std::string LimitText(bool is_set, double limit) { return is_set ? absl::StrFormat("%g", limit) : "-"; }

}  // namespace

std::string CallsReport(const v1::ListCallsResponse& response) {
  if (response.calls().empty()) return "There are no calls.\n";
  Table table({Table::Cutting("call", kNameLength),
               Table::Cutting("tenant"),
               Table::Cutting("caller"),
               Table::Cutting("method", 14),
               {"state"},
               {"age", kRight},
               Table::Cutting("request", 8),
               Table::Cutting("from", 14)});
  for (const v1::CallInfo& call : response.calls()) {
    table.AddRow({call.name(), call.tenant(), call.caller(), call.method(), CallStateText(call), AgeText(call.age()),
                  call.request_id(), call.peer()});
  }
  return table.ToString() + RestText(response.total_calls(), response.calls_size());
}

std::string TenantsReport(const v1::ListTenantsResponse& response) {
  if (response.tenants().empty()) return "No tenant is known.\n";
  Table table({Table::Cutting("tenant", 24),
               {"running", kRight},
               {"waiting", kRight},
               {"stored", kRight},
               {"bytes", kRight},
               {"operations", kRight},
               {"weight", kRight},
               {"may run", kRight},
               {"may wait", kRight},
               {"per second", kRight},
               {"limits"}});
  for (const v1::TenantInfo& tenant : response.tenants()) {
    const v1::TenantLimits& limits = tenant.limits();
    table.AddRow({tenant.name(), absl::StrCat(tenant.running_calls()), absl::StrCat(tenant.waiting_calls()),
                  absl::StrCat(tenant.stored_items()), BytesText(tenant.stored_bytes()),
                  absl::StrCat(tenant.pending_operations()), LimitText(limits.has_weight(), limits.weight()),
                  LimitText(limits.has_max_running(), limits.max_running()),
                  LimitText(limits.has_max_waiting(), limits.max_waiting()),
                  LimitText(limits.has_requests_per_second(), limits.requests_per_second()),
                  tenant.has_set_limits() ? "set" : ""});
  }
  return table.ToString() + RestText(response.total_tenants(), response.tenants_size());
}

std::string TenantOperationsReport(const std::vector<v1::TenantOperation>& operations) {
  if (operations.empty()) return "There are no operations.\n";
  Table table({Table::Cutting("tenant"),
               Table::Cutting("operation", kNameLength),
               {"state"},
               {"submitted"},
               {"attempts", kRight},
               Table::Cutting("request")});
  for (const v1::TenantOperation& listed : operations) {
    const v1::Operation& operation = listed.operation();
    table.AddRow({listed.tenant(), operation.name(), StateText(operation.state()),
                  TimeText(operation.metadata().create_time()), absl::StrCat(operation.metadata().attempts()),
                  operation.metadata().request_id()});
  }
  return table.ToString();
}

std::string ItemsReport(const std::vector<v1::TenantItem>& items) {
  if (items.empty()) return "Nothing is stored.\n";
  Table table({Table::Cutting("name", kNameLength), {"stored"}, Table::Cutting("of")});
  for (const v1::TenantItem& item : items) {
    table.AddRow({item.name(), TimeText(item.create_time()), item.display_name()});
  }
  return table.ToString();
}

}  // namespace planwright::client
