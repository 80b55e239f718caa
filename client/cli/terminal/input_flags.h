// Flags that name what goes in: a graph, times that belong to it, and a cluster.
#ifndef PLANWRIGHT_CLIENT_CLI_TERMINAL_INPUT_FLAGS_H_
#define PLANWRIGHT_CLIENT_CLI_TERMINAL_INPUT_FLAGS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/terminal/command.h"
#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/shared_flags.h"
#include "client/importer/graphs/profile.h"
#include "client/importer/importer.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// How names of built-in models and clusters begin.
inline constexpr std::string_view kZooPrefix = "zoo:";

// Whether `input` is the name of a built-in or a registered graph or cluster, which the service looks up; else it is
// the name of a file.
bool IsReference(const std::string& input);

// Which format a cluster's file has, and what such files do not say.
class ClusterFileFlags {
 public:
  FlagGroup Flags();

  // The cluster in the file `path`, or on standard input ("-"), and what was assumed. INVALID_ARGUMENT.
  absl::StatusOr<ImportedCluster> Read(const std::string& path, Environment& environment) const;

 private:
  std::string format_ = "auto";
  ClusterOptions options_;
  std::optional<int64_t> repeat_;
};

// Graph and cluster, each a file or a name of the zoo.
class InputFlags {
 public:
  // `server`: of whom names are asked where a file needs to know more of them; outlives this.
  explicit InputFlags(const ServerFlags& server) : server_(server) {}

  FlagGroup Flags();
  // The flags that say what files of graphs do not.
  std::vector<Flag> GraphFileFlags();
  // Has the effect of --graph.
  void SetGraph(std::string graph) { graph_ = std::move(graph); }
  // `groups`, whose first one are Flags(), with those that say what files of clusters do not.
  std::vector<FlagGroup> WithFileFlags(std::vector<FlagGroup> groups);

  // The request that the inputs make: graph, cluster, and the problem and options that the graph's file may state.
  // Warnings go to `environment.err`. Errors: INVALID_ARGUMENT; those of the server that is asked for names.
  absl::StatusOr<v1::CreatePlanRequest> Load(Environment& environment);

  // As Load, with what flags set beside what files state. INVALID_ARGUMENT also where times that were measured do not
  // count: those of operators where a joint search prices a transformer by its shape, those of layers anywhere else.
  absl::StatusOr<v1::CreatePlanRequest> LoadRequest(const v1::PlanningProblem& problem,
                                                    const v1::SolverOptions& options, Environment& environment);

  // As Load, but only a source that is needed must be given; one that is not needed may be left out.
  absl::StatusOr<v1::CreatePlanRequest> LoadNeeded(bool graph, bool cluster, Environment& environment);

  // "bert.json on zoo:dgx1-v100:1".
  std::string Title() const;

  const std::string& graph() const { return graph_; }
  // The name of the zoo that the graph was named by, or that its file was taken for; empty: none. Of what was loaded.
  const std::string& model() const { return model_; }
  const std::string& cluster() const { return cluster_; }
  // What it took to understand the graph's file, without the time that reading waited for it.
  std::chrono::milliseconds import_time() const { return import_time_; }
  // What the import of the graph had to say; for the plan's own warnings.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  absl::Status LoadGraph(Environment& environment, v1::CreatePlanRequest& request);
  // What to do with flags for files beside a graph that is named.
  std::string SizesHint() const;
  // Whether the times that were measured count for what is asked.
  absl::Status CheckTimes(const v1::CreatePlanRequest& request) const;
  absl::Status LoadCluster(Environment& environment, v1::CreatePlanRequest& request);
  // The rows of --profile, of which `text` is the content.
  absl::StatusOr<std::vector<ProfileRow>> ReadTimes(std::string_view text, Environment& environment);
  // Gives the graph the times of --profile, which it must be known for.
  absl::Status AddProfile(Environment& environment, v1::CreatePlanRequest& request);
  // Gives the shape of the graph's transformer the times of --layer_times.
  absl::Status AddLayerTimes(Environment& environment, v1::CreatePlanRequest& request);
  // Says which classes the times are of that the graph's file does not name.
  absl::Status NameTimes(Environment& environment, v1::CreatePlanRequest& request);
  void Warn(std::string warning, Environment& environment);

  const ServerFlags& server_;
  std::string graph_;
  std::string graph_format_ = "auto";
  std::string cluster_;
  ClusterFileFlags cluster_file_;
  std::string profile_;
  std::string layer_times_;
  std::string model_;
  GraphOptions options_;
  std::vector<std::string> warnings_;
  std::chrono::milliseconds import_time_{0};
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_TERMINAL_INPUT_FLAGS_H_
