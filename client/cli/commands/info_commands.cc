#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands/commands.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/files.h"
#include "client/cli/terminal/input_flags.h"
#include "client/cli/terminal/resolve_input.h"
#include "client/cli/terminal/shared_flags.h"
#include "client/report/info_report.h"
#include "client/report/inputs/cluster_report.h"
#include "client/report/inputs/graph_report.h"
#include "client/report/json.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);

// A view of what GetServerInfo answers.
struct InfoView {
  std::string_view name;
  std::string_view summary;
  std::string_view usage;
  std::string (*text)(const v1::GetServerInfoResponse& info);
  std::string (*json)(const v1::GetServerInfoResponse& info);
};

std::string InfoJson(const v1::GetServerInfoResponse& info) { return JsonText(info); }

std::string ModelsJson(const v1::GetServerInfoResponse& info) {
  v1::GetServerInfoResponse models;
  *models.mutable_models() = info.models();
  return JsonText(models, DefaultValues::kOmitted);
}

std::string ClustersJson(const v1::GetServerInfoResponse& info) {
  v1::GetServerInfoResponse clusters;
  *clusters.mutable_clusters() = info.clusters();
  return JsonText(clusters, DefaultValues::kOmitted);
}

CallOptions PatientCall(const Environment& environment) {
  return {.deadline = CallOptions::Clock::now() + kPatience, .stop = environment.interrupt};
}

// `status` of an answer, or that the server did not give it in time.
absl::Status Answered(const absl::Status& status, const std::string& address) {
  if (status.code() != absl::StatusCode::kDeadlineExceeded) return status;
  return absl::UnavailableError(address + " does not answer");
}

absl::StatusOr<ExitCode> Show(std::string_view text, const OutputFlags& output, Environment& environment) {
  const absl::Status written = output.Write(text, environment);
  if (!written.ok()) return written;
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> ShowInfo(const InfoView& view, const ServerFlags& server, const OutputFlags& output,
                                  Environment& environment) {
  const auto info = server.Connect(environment)->GetServerInfo({}, PatientCall(environment));
  const absl::Status answered = Answered(info.status(), server.Address(environment));
  if (!answered.ok()) return answered;
  return Show(output.is_json() ? view.json(*info) : view.text(*info), output, environment);
}

class InfoCommand final : public Command {
 public:
  explicit InfoCommand(const InfoView& view) : view_(view) {}

  std::string_view name() const override { return view_.name; }
  std::string_view summary() const override { return view_.summary; }
  std::string_view usage() const override { return view_.usage; }

  std::vector<FlagGroup> Flags() override { return {server_.Flags(), output_.Flags()}; }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    return ShowInfo(view_, server_, output_, environment);
  }

 private:
  InfoView view_;
  ServerFlags server_;
  OutputFlags output_;
};

// What --show of `models` and `topologies` names: a file, a name of the zoo with or without its prefix, or one of a
// server.
struct Shown {
  bool is_file = false;
  std::string name;
};

Shown ShownBy(const std::string& show) {
  std::error_code ignored;
  const bool is_file = show == "-" || std::filesystem::exists(show, ignored);
  return {is_file, is_file || IsReference(show) ? show : std::string(kZooPrefix) + show};
}

class ModelsCommand final : public Command {
 public:
  std::string_view name() const override { return "models"; }
  std::string_view summary() const override { return "list the built-in models, or describe one"; }
  std::string_view usage() const override {
    return "planwright models [--show=NAME|FILE] [--output=json] [--output_file=FILE]\n"
           "\n"
           "The JSON of one is a file for --graph, to be changed by hand. --show describes such files too.\n"
           "\n"
           "Examples:\n"
           "  planwright models\n"
           "  planwright models --show=bert-large\n"
           "  planwright models --show='transformer?layers=61&hidden=7168&heads=128' --output=json\n";
  }

  std::vector<FlagGroup> Flags() override {
    return {{"Models",
             {StringFlag("show", "NAME|FILE",
                         "one of them, with its keys (gpt-1.3b?sequence=4096), or the graph in a file", show_)}},
            {"Files", input_.GraphFileFlags()},
            server_.Flags(),
            output_.Flags()};
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    if (!show_.empty()) return ShowOne(environment);
    static constexpr InfoView kList = {"", "", "", &ModelsReport, &ModelsJson};
    return ShowInfo(kList, server_, output_, environment);
  }

 private:
  absl::StatusOr<ExitCode> ShowOne(Environment& environment) {
    const std::string name = ShownBy(show_).name;
    input_.SetGraph(name);
    auto request = input_.LoadNeeded(/*graph=*/true, /*cluster=*/false, environment);
    if (!request.ok()) return request.status();
    const absl::Status resolved = ResolveGraph(*server_.Connect(environment), PatientCall(environment), *request);
    const absl::Status answered = Answered(resolved, server_.Address(environment));
    if (!answered.ok()) {
      return WithNotFoundHint(answered, "`planwright models` lists what there is. Check the path if a file was meant.");
    }
    return Show(output_.is_json() ? JsonText(request->graph(), DefaultValues::kOmitted)
                                  : GraphReport(InputName(name), request->graph()),
                output_, environment);
  }

  std::string show_;
  ServerFlags server_;
  InputFlags input_{server_};
  OutputFlags output_;
};

class TopologiesCommand final : public Command {
 public:
  std::string_view name() const override { return "topologies"; }
  std::string_view summary() const override { return "list the built-in clusters, or make one"; }
  std::string_view usage() const override {
    return "planwright topologies [--show=NAME|FILE] [--output=json] [--output_file=FILE]\n"
           "\n"
           "The JSON of one is a file for --cluster, to be changed by hand. --show describes such files too.\n"
           "\n"
           "Examples:\n"
           "  planwright topologies\n"
           "  planwright topologies --show='dgx1-mesh:4?between_gb=25'\n"
           "  planwright topologies --show=torus2d:8 --output=json --output_file=torus.json\n"
           "  planwright topologies --show=torus.json\n";
  }

  std::vector<FlagGroup> Flags() override {
    return {{"Topologies",
             {StringFlag("show", "NAME|FILE",
                         "one of them, with its number and keys (mesh2d:8), or the cluster in a file", show_)}},
            file_.Flags(),
            server_.Flags(),
            output_.Flags()};
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    if (!show_.empty()) return ShowOne(environment);
    static constexpr InfoView kList = {"", "", "", &TopologiesReport, &ClustersJson};
    return ShowInfo(kList, server_, output_, environment);
  }

 private:
  absl::StatusOr<ExitCode> ShowOne(Environment& environment) const {
    const auto [is_file, name] = ShownBy(show_);
    std::vector<std::string> warnings;
    const auto cluster = is_file ? ReadFile(name, environment, warnings) : GetCluster(name, environment);
    if (!cluster.ok()) return cluster.status();
    const std::string assumed = warnings.empty() ? "" : absl::StrCat("\nAssumed\n", ListText(warnings));
    return Show(output_.is_json() ? JsonText(*cluster, DefaultValues::kOmitted)
                                  : absl::StrCat(ClusterReport(name, *cluster), assumed),
                output_, environment);
  }

  absl::StatusOr<v1::Cluster> ReadFile(const std::string& name, Environment& environment,
                                       std::vector<std::string>& warnings) const {
    auto imported = file_.Read(name, environment);
    if (!imported.ok()) return imported.status();
    warnings = std::move(imported->warnings);
    return std::move(imported->cluster);
  }

  absl::StatusOr<v1::Cluster> GetCluster(const std::string& name, Environment& environment) const {
    v1::GetClusterRequest request;
    request.set_name(name);
    auto response = server_.Connect(environment)->GetCluster(request, PatientCall(environment));
    const absl::Status answered = Answered(response.status(), server_.Address(environment));
    if (!answered.ok()) {
      return WithNotFoundHint(answered,
                              "`planwright topologies` lists what there is. Check the path if a file was meant.");
    }
    return std::move(*response->mutable_cluster());
  }

  std::string show_;
  ClusterFileFlags file_;
  ServerFlags server_;
  OutputFlags output_;
};

}  // namespace

std::unique_ptr<Command> MakeModelsCommand() { return std::make_unique<ModelsCommand>(); }

std::unique_ptr<Command> MakeTopologiesCommand() { return std::make_unique<TopologiesCommand>(); }

std::unique_ptr<Command> MakeServerInfoCommand() {
  return std::make_unique<InfoCommand>(InfoView{"server-info", "show version, algorithms and limits",
                                                "planwright server-info [--server=HOST:PORT] [--output=json]\n"
                                                "\n"
                                                "Examples:\n"
                                                "  planwright server-info\n"
                                                "  planwright server-info --server=localhost:50051\n",
                                                &ServerInfoReport, &InfoJson});
}

}  // namespace planwright::client
