// Flags that several sub-commands have: inputs, problem, search, server, output.
#ifndef PLANWRIGHT_CLIENT_CLI_TERMINAL_SHARED_FLAGS_H_
#define PLANWRIGHT_CLIENT_CLI_TERMINAL_SHARED_FLAGS_H_

#include <google/protobuf/message.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/terminal/command.h"
#include "client/cli/terminal/flags.h"
#include "client/library/planning_client.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// How names of built-in models and clusters begin.
inline constexpr std::string_view kZooPrefix = "zoo:";

// Whether `input` is the name of a built-in or a registered graph or cluster, which the service looks up; else it is
// the name of a file.
bool IsReference(const std::string& input);

// The cluster in the file `path`, or on standard input ("-"). INVALID_ARGUMENT.
absl::StatusOr<v1::Cluster> ReadCluster(const std::string& path, Environment& environment);

// Graph and cluster, each a file or a name of the zoo.
class InputFlags {
 public:
  FlagGroup Flags();

  // The request that the inputs make: graph, cluster, and the problem and options that the graph's file may state.
  // Warnings go to `environment.err`. Errors: INVALID_ARGUMENT.
  absl::StatusOr<v1::CreatePlanRequest> Load(Environment& environment);

  // As Load, but only a source that is needed must be given; one that is not needed may be left out.
  absl::StatusOr<v1::CreatePlanRequest> LoadNeeded(bool graph, bool cluster, Environment& environment);

  // "bert.json on zoo:dgx1-v100:1".
  std::string Title() const;

  const std::string& graph() const { return graph_; }
  // What it took to understand the graph's file, without the time that reading waited for it.
  std::chrono::milliseconds import_time() const { return import_time_; }
  // What the import of the graph had to say; for the plan's own warnings.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  absl::Status LoadGraph(Environment& environment, v1::CreatePlanRequest& request);
  absl::Status LoadCluster(Environment& environment, v1::CreatePlanRequest& request) const;

  std::string graph_;
  std::string graph_format_ = "auto";
  std::string cluster_;
  std::vector<std::string> warnings_;
  std::chrono::milliseconds import_time_{0};
};

// Where the service runs.
class ServerFlags {
 public:
  FlagGroup Flags();

  // Empty: in this process.
  std::string Address(const Environment& environment) const;
  std::unique_ptr<PlanningClient> Connect(const Environment& environment) const;

 private:
  // A flag whose value is the name of a file, and whose text goes to `text`.
  static Flag FileFlag(std::string name, std::string help, std::string& text);

  ServerConnection stated_;
  bool local_ = false;
};

// How the result is written.
class OutputFlags {
 public:
  explicit OutputFlags(std::vector<std::string> formats = {"text", "json"}) : formats_(std::move(formats)) {}

  FlagGroup Flags();

  bool is_json() const { return output_ == "json"; }
  bool is_svg() const { return output_ == "svg"; }
  bool is_trace() const { return output_ == "trace"; }
  // Writes the result where the flags say.
  absl::Status Write(std::string_view text, Environment& environment) const;

 private:
  std::vector<std::string> formats_;
  std::string output_ = "text";
  std::string output_file_;
};

// Settings of the problem; the flags that this version does not plan are passed on, and refused by the service.
// `given`, where it is not nullptr, gets the paths of the fields that flags set, also of those that have no presence.
FlagGroup ProblemFlags(v1::PlanningProblem& problem, std::vector<std::string>* given = nullptr);
// Settings of the search.
FlagGroup SolverFlags(v1::SolverOptions& options);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_TERMINAL_SHARED_FLAGS_H_
