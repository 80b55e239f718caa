// admin: what administrators see and end on a server.
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/store_access.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/message_flags.h"
#include "client/cli/terminal/shared_flags.h"
#include "client/library/admin_client.h"
#include "client/report/admin_report.h"
#include "client/report/json.h"

namespace planwright::client {
namespace {

class AdminCommand final : public Command {
 public:
  std::string_view name() const override { return "admin"; }
  std::string_view summary() const override { return "list, cancel and limit what all tenants do on a server"; }
  std::string_view usage() const override {
    return "planwright admin calls [--tenant=NAME] [--cancel=calls/ID] --server=HOST:PORT\n"
           "planwright admin tenants [--tenant=NAME] --server=HOST:PORT\n"
           "planwright admin limits --tenant=NAME [--max_running=N ... | --reset] --server=HOST:PORT\n"
           "planwright admin operations [--tenant=NAME] [--cancel=operations/ID] --server=HOST:PORT\n"
           "planwright admin plans|graphs|clusters --tenant=NAME [--delete=plans/ID] --server=HOST:PORT\n"
           "\n"
           "Needs a token or certificate with the role admin, where the server asks for one. Calls and limits are "
           "those\n"
           "of the one server that answers. Limits that are set hold until it ends, also over a SIGHUP, or until they\n"
           "are reset; what is to last belongs into --auth_config.\n"
           "\n"
           "Examples:\n"
           "  planwright admin calls --server=localhost:50051\n"
           "  planwright admin tenants --server=localhost:50051\n"
           "  planwright admin limits --tenant=team-a --max_running=1 --max_waiting=4 --server=localhost:50051\n"
           "  planwright admin limits --tenant=team-a --reset --server=localhost:50051\n"
           "  planwright admin operations --server=localhost:50051\n"
           "  planwright admin plans --tenant=default --server=localhost:50051\n";
  }

  std::vector<FlagGroup> Flags() override {
    Flag what = StringFlag("what", "calls",
                           "calls, tenants, limits, operations, plans, graphs or clusters; --what= may "
                           "be left out",
                           what_);
    what.is_bare = true;
    return {{"What",
             {std::move(what), StringFlag("tenant", "NAME", "of this tenant only", tenant_),
              StringFlag("cancel", "calls/ID", "ask this call, or this operation of --tenant, to stop", cancel_),
              StringFlag("delete", "plans/ID", "forget this plan, graph or cluster of --tenant", delete_)}},
            {"Limits; those that are not given stay as they are",
             {MessageFlag("weight", "weight", "share of the searching time while others wait", limits_),
              MessageFlag("max_running", "max_running", "requests that run at the same time", limits_),
              MessageFlag("max_waiting", "max_waiting", "requests that wait at the same time", limits_),
              MessageFlag("requests_per_second", "requests_per_second", "requests in the long run", limits_),
              MessageFlag("burst", "burst", "requests at once after a rest", limits_),
              SwitchFlag("reset", "those of the server's configuration again", reset_)}},
            server_.Flags(),
            output_.Flags()};
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    const absl::Status fits = CheckFlags();
    if (!fits.ok()) return fits;
    const auto access = ConnectToStore(server_, environment);
    if (!access.ok()) return access.status();
    const auto text = Answer(access->store->admin(), environment);
    if (!text.ok()) return text.status();
    const absl::Status written = output_.Write(*text, environment);
    if (!written.ok()) return written;
    return ExitCode::kOk;
  }

 private:
  absl::StatusOr<std::string> Answer(AdminClient& admin, const Environment& environment) const {
    if (what_ == "calls") return cancel_.empty() ? Calls(admin, environment) : CancelCall(admin, environment);
    if (what_ == "tenants") return Tenants(admin, environment);
    if (what_ == "limits") return Limits(admin, environment);
    if (what_ == "operations") {
      return cancel_.empty() ? Operations(admin, environment) : CancelOperation(admin, environment);
    }
    if (ShowsItems()) {
      return delete_.empty() ? Items(admin, environment) : Delete(admin, environment);
    }
    return UsageError(
        what_.empty() ? "it is not said what to show" : absl::StrCat("there is no \"", what_, "\" to show"),
        "Say calls, tenants, limits, operations, plans, graphs or clusters, as in `planwright admin calls`.");
  }

  bool ShowsItems() const { return what_ == "plans" || what_ == "graphs" || what_ == "clusters"; }

  // Who asks to end something and is shown a list instead would take it for done.
  absl::Status CheckFlags() const {
    if (!cancel_.empty() && what_ != "calls" && what_ != "operations") {
      return UsageError("--cancel is for calls and operations", "Say `planwright admin calls --cancel=calls/ID`.");
    }
    if (!delete_.empty() && !ShowsItems()) {
      return UsageError("--delete is for plans, graphs and clusters",
                        "Say `planwright admin plans --tenant=NAME --delete=plans/ID`.");
    }
    if (!delete_.empty() && !absl::StartsWith(delete_, absl::StrCat(what_, "/"))) {
      return UsageError(absl::StrCat("--delete=", delete_, " is not one of the ", what_),
                        absl::StrCat("Its name begins with ", what_, "/."));
    }
    if ((reset_ || limits_.ByteSizeLong() > 0) && what_ != "limits") {
      return UsageError("limits are changed by `planwright admin limits`", "Name the tenant with --tenant=NAME.");
    }
    return absl::OkStatus();
  }

  absl::Status NeedTenant() const {
    if (!tenant_.empty()) return absl::OkStatus();
    return UsageError("--tenant is missing", "`planwright admin tenants` lists who there are.");
  }

  template <typename Response>
  std::string Text(const Response& response, const std::function<std::string()>& report) const {
    return output_.is_json() ? JsonText(response) : report();
  }

  absl::StatusOr<std::string> Calls(AdminClient& admin, const Environment& environment) const {
    constexpr int kAll = 1000;
    v1::ListCallsRequest request;
    request.set_tenant(tenant_);
    request.set_page_size(kAll);
    const auto response = admin.ListCalls(request, ShortCall(environment));
    if (!response.ok()) return response.status();
    return Text(*response, [&] { return CallsReport(*response); });
  }

  absl::StatusOr<std::string> CancelCall(AdminClient& admin, const Environment& environment) const {
    v1::CancelCallRequest request;
    request.set_name(cancel_);
    const auto response = admin.CancelCall(request, ShortCall(environment));
    if (!response.ok()) return WithNotFoundHint(response.status(), "`planwright admin calls` lists what there is.");
    return Text(*response, [&] { return absl::StrCat("asked ", cancel_, " to stop\n"); });
  }

  absl::StatusOr<std::string> Tenants(AdminClient& admin, const Environment& environment) const {
    v1::ListTenantsRequest request;
    request.set_tenant(tenant_);
    const auto response = admin.ListTenants(request, ShortCall(environment));
    if (!response.ok()) return response.status();
    return Text(*response, [&] { return TenantsReport(*response); });
  }

  absl::StatusOr<std::string> Limits(AdminClient& admin, const Environment& environment) const {
    const absl::Status named = NeedTenant();
    if (!named.ok()) return named;
    const auto changed = reset_ ? Reset(admin, environment) : Set(admin, environment);
    if (!changed.ok()) return changed.status();
    v1::ListTenantsResponse shown;
    *shown.add_tenants() = *changed;
    shown.set_total_tenants(1);
    return Text(*changed, [&] { return TenantsReport(shown); });
  }

  absl::StatusOr<v1::TenantInfo> Reset(AdminClient& admin, const Environment& environment) const {
    v1::ResetTenantLimitsRequest request;
    request.set_tenant(tenant_);
    const auto response = admin.ResetTenantLimits(request, ShortCall(environment));
    if (!response.ok()) return response.status();
    return response->tenant();
  }

  absl::StatusOr<v1::TenantInfo> Set(AdminClient& admin, const Environment& environment) const {
    if (limits_.ByteSizeLong() == 0) {
      return UsageError("no limit is given", "Give some, such as --max_running=1, or --reset.");
    }
    v1::SetTenantLimitsRequest request;
    request.set_tenant(tenant_);
    *request.mutable_limits() = limits_;
    const auto response = admin.SetTenantLimits(request, ShortCall(environment));
    if (!response.ok()) return response.status();
    return response->tenant();
  }

  absl::StatusOr<std::string> Operations(AdminClient& admin, const Environment& environment) const {
    v1::ListTenantOperationsRequest request;
    request.set_tenant(tenant_.empty() ? "-" : tenant_);
    const auto operations = ReadPages<v1::TenantOperation>(
        request,
        [&](const v1::ListTenantOperationsRequest& page) {
          return admin.ListTenantOperations(page, ShortCall(environment));
        },
        [](v1::ListTenantOperationsResponse& page) { return page.mutable_operations(); });
    if (!operations.ok()) return operations.status();
    v1::ListTenantOperationsResponse all;
    all.mutable_operations()->Add(operations->begin(), operations->end());
    return Text(all, [&] { return TenantOperationsReport(*operations); });
  }

  absl::StatusOr<std::string> CancelOperation(AdminClient& admin, const Environment& environment) const {
    const absl::Status named = NeedTenant();
    if (!named.ok()) return named;
    v1::CancelTenantOperationRequest request;
    request.set_tenant(tenant_);
    request.set_name(cancel_);
    const auto response = admin.CancelTenantOperation(request, ShortCall(environment));
    if (!response.ok())
      return WithNotFoundHint(response.status(), "`planwright admin operations` lists what there is.");
    return Text(*response, [&] { return absl::StrCat("asked ", cancel_, " to stop\n"); });
  }

  absl::StatusOr<std::string> Items(AdminClient& admin, const Environment& environment) const {
    const absl::Status named = NeedTenant();
    if (!named.ok()) return named;
    v1::ListTenantItemsRequest request;
    request.set_tenant(tenant_);
    request.set_kind(what_);
    const auto items = ReadPages<v1::TenantItem>(
        request,
        [&](const v1::ListTenantItemsRequest& page) { return admin.ListTenantItems(page, ShortCall(environment)); },
        [](v1::ListTenantItemsResponse& page) { return page.mutable_items(); });
    if (!items.ok()) return items.status();
    v1::ListTenantItemsResponse all;
    all.mutable_items()->Add(items->begin(), items->end());
    return Text(all, [&] { return ItemsReport(*items); });
  }

  absl::StatusOr<std::string> Delete(AdminClient& admin, const Environment& environment) const {
    const absl::Status named = NeedTenant();
    if (!named.ok()) return named;
    v1::DeleteTenantItemRequest request;
    request.set_tenant(tenant_);
    request.set_name(delete_);
    const auto response = admin.DeleteTenantItem(request, ShortCall(environment));
    if (!response.ok()) {
      return WithNotFoundHint(response.status(), absl::StrCat("`planwright admin ", what_, "` lists what there is."));
    }
    return absl::StrCat("deleted ", delete_, "\n");
  }

  std::string what_;
  std::string tenant_;
  std::string cancel_;
  std::string delete_;
  bool reset_ = false;
  v1::TenantLimits limits_;
  ServerFlags server_;
  OutputFlags output_;
};

}  // namespace

std::unique_ptr<Command> MakeAdminCommand() { return std::make_unique<AdminCommand>(); }

}  // namespace planwright::client
