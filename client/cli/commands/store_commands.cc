// register and plans.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/store_access.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/input_flags.h"
#include "client/cli/terminal/resolve_input.h"
#include "client/cli/terminal/shared_flags.h"
#include "client/report/json.h"
#include "client/report/store_report.h"
#include "client/report/text_report.h"

namespace planwright::client {
namespace {

class RegisterCommand final : public Command {
 public:
  std::string_view name() const override { return "register"; }
  std::string_view summary() const override { return "store a graph or a cluster, to be named by its digest"; }
  std::string_view usage() const override {
    return "planwright register [--graph=FILE|zoo:NAME] [--cluster=FILE|zoo:NAME] --server=HOST:PORT\n"
           "\n"
           "Prints the names to give to --graph and --cluster from then on.\n"
           "\n"
           "Examples:\n"
           "  planwright register --graph=zoo:bert-large --cluster=zoo:pcie:4 --server=localhost:50051\n";
  }

  std::vector<FlagGroup> Flags() override {
    return input_.WithFileFlags({input_.Flags(), server_.Flags(), output_.Flags()});
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    auto inputs = input_.LoadNeeded(/*graph=*/false, /*cluster=*/false, environment);
    if (!inputs.ok()) return inputs.status();
    const auto access = ConnectToStore(server_, environment);
    if (!access.ok()) return access.status();
    std::string names;
    absl::Status status = RegisterGraph(*access, *inputs, environment, names);
    if (status.ok()) status = RegisterCluster(*access, *inputs, environment, names);
    if (!status.ok()) return status;
    if (names.empty()) return UsageError("neither --graph nor --cluster is given", "Name what is to be registered.");
    status = output_.Write(names, environment);
    if (!status.ok()) return status;
    return ExitCode::kOk;
  }

 private:
  template <typename Summary>
  void Append(const Summary& summary, std::string& names) const {
    absl::StrAppend(&names, output_.is_json() ? JsonText(summary) : summary.name() + "\n");
  }

  absl::Status RegisterGraph(const StoreAccess& access, v1::CreatePlanRequest& inputs, const Environment& environment,
                             std::string& names) const {
    const absl::Status resolved = ResolveGraph(*access.client, ShortCall(environment), inputs);
    if (!resolved.ok() || !inputs.has_graph()) return resolved;
    const auto response = access.store->RegisterGraph(inputs.graph(), ShortCall(environment));
    if (response.ok()) Append(response->graph(), names);
    return response.status();
  }

  absl::Status RegisterCluster(const StoreAccess& access, v1::CreatePlanRequest& inputs, const Environment& environment,
                               std::string& names) const {
    const absl::Status resolved = ResolveCluster(*access.client, ShortCall(environment), inputs);
    if (!resolved.ok() || !inputs.has_cluster()) return resolved;
    v1::RegisterClusterRequest request;
    *request.mutable_cluster() = inputs.cluster();
    const auto response = access.store->RegisterCluster(request, ShortCall(environment));
    if (response.ok()) Append(response->cluster(), names);
    return response.status();
  }

  ServerFlags server_;
  InputFlags input_{server_};
  OutputFlags output_;
};

class PlansCommand final : public Command {
 public:
  std::string_view name() const override { return "plans"; }
  std::string_view summary() const override { return "list, show or delete the plans that a server keeps"; }
  std::string_view usage() const override {
    return "planwright plans [--show=plans/ID | --delete=plans/ID] --server=HOST:PORT [--output=json]\n"
           "\n"
           "Examples:\n"
           "  planwright plan --graph=zoo:bert-large --cluster=zoo:pcie:4 --plan_id=bert-4 --server=localhost:50051\n"
           "  planwright plans --server=localhost:50051\n"
           "  planwright plans --show=plans/bert-4 --server=localhost:50051\n";
  }

  std::vector<FlagGroup> Flags() override {
    return {{"Plans",
             {StringFlag("show", "plans/ID", "print this plan", show_),
              StringFlag("delete", "plans/ID", "forget this plan", delete_)}},
            server_.Flags(),
            output_.Flags()};
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    const auto access = ConnectToStore(server_, environment);
    if (!access.ok()) return access.status();
    const auto text = Answer(*access->store, environment);
    if (!text.ok()) return WithNotFoundHint(text.status(), "`planwright plans` lists what there is.");
    const absl::Status written = output_.Write(*text, environment);
    if (!written.ok()) return written;
    return ExitCode::kOk;
  }

 private:
  absl::StatusOr<std::string> Answer(StoreClient& store, const Environment& environment) const {
    if (!delete_.empty()) return Delete(store, environment);
    return show_.empty() ? List(store, environment) : Show(store, environment);
  }

  absl::StatusOr<std::string> List(StoreClient& store, const Environment& environment) const {
    const auto plans = ReadPages<v1::PlanSummary>(
        v1::ListPlansRequest(),
        [&](const v1::ListPlansRequest& request) { return store.ListPlans(request, ShortCall(environment)); },
        [](v1::ListPlansResponse& page) { return page.mutable_plans(); });
    if (!plans.ok()) return plans.status();
    if (!output_.is_json()) return PlansReport(*plans);
    v1::ListPlansResponse all;
    all.mutable_plans()->Add(plans->begin(), plans->end());
    return JsonText(all);
  }

  absl::StatusOr<std::string> Show(StoreClient& store, const Environment& environment) const {
    v1::GetPlanRequest request;
    request.set_name(show_);
    const auto response = store.GetPlan(request, ShortCall(environment));
    if (!response.ok()) return response.status();
    return output_.is_json() ? JsonText(response->plan()) : PlanReport(response->plan(), show_);
  }

  absl::StatusOr<std::string> Delete(StoreClient& store, const Environment& environment) const {
    v1::DeletePlanRequest request;
    request.set_name(delete_);
    const auto response = store.DeletePlan(request, ShortCall(environment));
    if (!response.ok()) return response.status();
    return absl::StrCat("deleted ", delete_, "\n");
  }

  std::string show_;
  std::string delete_;
  ServerFlags server_;
  OutputFlags output_;
};

}  // namespace

std::unique_ptr<Command> MakeRegisterCommand() { return std::make_unique<RegisterCommand>(); }
std::unique_ptr<Command> MakePlansCommand() { return std::make_unique<PlansCommand>(); }

}  // namespace planwright::client
