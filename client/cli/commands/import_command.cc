#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands/commands.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/input_flags.h"
#include "client/cli/terminal/resolve_input.h"
#include "client/cli/terminal/shared_flags.h"
#include "client/report/inputs/cluster_report.h"
#include "client/report/inputs/graph_report.h"
#include "client/report/json.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

class ImportCommand final : public Command {
 public:
  std::string_view name() const override { return "import"; }
  std::string_view summary() const override {
    return "rewrite a graph, a cluster or both as Planwright's own JSON, or describe them";
  }
  std::string_view usage() const override {
    return "planwright import [--graph=FILE|zoo:NAME] [--cluster=FILE|zoo:NAME] [flags]\n"
           "\n"
           "What comes out is a request, {\"graph\": ..., \"cluster\": ...}, that --graph of the other commands "
           "reads:\n"
           "the way to see what a built-in model holds, and to change it. --output=text says how much there is of it.\n"
           "\n"
           "Examples:\n"
           "  planwright import --graph=zoo:bert-large --cluster=zoo:pcie:4 --output_file=bert.json\n"
           "  planwright plan --graph=bert.json\n"
           "  planwright import --graph=bert.json --output=text\n";
  }

  std::vector<FlagGroup> Flags() override {
    return input_.WithFileFlags({input_.Flags(), server_.Flags(), output_.Flags()});
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    auto request = input_.LoadNeeded(/*graph=*/false, /*cluster=*/false, environment);
    if (!request.ok()) return request.status();
    const auto client = server_.Connect(environment);
    const CallOptions call{.stop = environment.interrupt};
    absl::Status status = ResolveGraph(*client, call, *request);
    if (status.ok()) status = ResolveCluster(*client, call, *request);
    if (!status.ok()) return status;
    if (!request->has_graph() && !request->has_cluster()) {
      return UsageError("nothing to import", "Give --graph, --cluster or both.");
    }
    status = output_.Write(TextOf(*request), environment);
    if (!status.ok()) return status;
    return ExitCode::kOk;
  }

 private:
  std::string TextOf(const v1::CreatePlanRequest& request) const {
    if (output_.is_json()) return JsonText(request, DefaultValues::kOmitted);
    const std::string graph = request.has_graph() ? GraphReport(input_.graph(), request.graph()) : "";
    const std::string cluster =
        request.has_cluster()
            ? ClusterReport(input_.cluster().empty() ? "its cluster" : input_.cluster(), request.cluster())
            : "";
    return absl::StrCat(graph, graph.empty() || cluster.empty() ? "" : "\n", cluster, WarningsText());
  }

  std::string WarningsText() const {
    return input_.warnings().empty() ? "" : absl::StrCat("\nAssumed\n", ListText(input_.warnings()));
  }

  ServerFlags server_;
  InputFlags input_{server_};
  OutputFlags output_{{"json", "text"}};
};

}  // namespace

std::unique_ptr<Command> MakeImportCommand() { return std::make_unique<ImportCommand>(); }

}  // namespace planwright::client
