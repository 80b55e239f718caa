#include <memory>
#include <string>
#include <vector>

#include "client/cli/commands/commands.h"
#include "client/cli/commands/resolve_input.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/files.h"
#include "client/cli/terminal/shared_flags.h"
#include "client/report/json.h"

namespace planwright::client {
namespace {

class ImportCommand final : public Command {
 public:
  std::string_view name() const override { return "import"; }
  std::string_view summary() const override { return "rewrite a graph, a cluster or both as Planwright's own JSON"; }
  std::string_view usage() const override {
    return "planwright import [--graph=FILE|zoo:NAME] [--cluster=FILE|zoo:NAME] [flags]\n"
           "\n"
           "What comes out is a request, {\"graph\": ..., \"cluster\": ...}, that --graph of the other commands "
           "reads:\n"
           "the way to see what a built-in model holds, and to change it.\n"
           "\n"
           "Examples:\n"
           "  planwright import --graph=zoo:bert-large --cluster=zoo:pcie:4 --output_file=bert.json\n"
           "  planwright plan --graph=bert.json\n";
  }

  std::vector<FlagGroup> Flags() override {
    return {input_.Flags(),
            server_.Flags(),
            {"Output", {StringFlag("output_file", "FILE", "write there instead of standard output", output_file_)}}};
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
    status = WriteOutput(JsonText(*request, DefaultValues::kOmitted), output_file_, environment.out);
    if (!status.ok()) return status;
    return ExitCode::kOk;
  }

 private:
  InputFlags input_;
  ServerFlags server_;
  std::string output_file_;
};

}  // namespace

std::unique_ptr<Command> MakeImportCommand() { return std::make_unique<ImportCommand>(); }

}  // namespace planwright::client
