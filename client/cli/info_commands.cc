#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "client/cli/commands.h"
#include "client/cli/errors.h"
#include "client/cli/shared_flags.h"
#include "client/report/json.h"
#include "client/report/text_report.h"

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

class InfoCommand final : public Command {
 public:
  explicit InfoCommand(const InfoView& view) : view_(view) {}

  std::string_view name() const override { return view_.name; }
  std::string_view summary() const override { return view_.summary; }
  std::string_view usage() const override { return view_.usage; }

  std::vector<FlagGroup> Flags() override { return {server_.Flags(), output_.Flags()}; }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    const CallOptions call{.deadline = CallOptions::Clock::now() + kPatience, .stop = environment.interrupt};
    const auto info = server_.Connect(environment)->GetServerInfo({}, call);
    if (info.status().code() == absl::StatusCode::kDeadlineExceeded) {
      return absl::UnavailableError(server_.Address(environment) + " does not answer");
    }
    if (!info.ok()) return info.status();
    const absl::Status written = output_.Write(output_.is_json() ? view_.json(*info) : view_.text(*info), environment);
    if (!written.ok()) return written;
    return ExitCode::kOk;
  }

 private:
  InfoView view_;
  ServerFlags server_;
  OutputFlags output_;
};

}  // namespace

std::unique_ptr<Command> MakeModelsCommand() {
  return std::make_unique<InfoCommand>(InfoView{"models", "list the built-in models",
                                                "planwright models [--output=json]\n", &ModelsReport, &ModelsJson});
}

std::unique_ptr<Command> MakeTopologiesCommand() {
  return std::make_unique<InfoCommand>(InfoView{"topologies", "list the built-in clusters",
                                                "planwright topologies [--output=json]\n", &TopologiesReport,
                                                &ClustersJson});
}

std::unique_ptr<Command> MakeServerInfoCommand() {
  return std::make_unique<InfoCommand>(InfoView{"server-info", "show version, algorithms and limits",
                                                "planwright server-info [--server=HOST:PORT] [--output=json]\n",
                                                &ServerInfoReport, &InfoJson});
}

}  // namespace planwright::client
