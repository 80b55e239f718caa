// A plan from a file and the graph and the cluster that it is for: what commands that take plans share.
#ifndef PLANWRIGHT_CLIENT_CLI_COMMANDS_GIVEN_PLAN_H_
#define PLANWRIGHT_CLIENT_CLI_COMMANDS_GIVEN_PLAN_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/terminal/command.h"
#include "client/cli/terminal/input_flags.h"
#include "client/cli/terminal/shared_flags.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// The plan in the file `name`, on standard input ("-"), or, as plans/ID, in the store of the server. `input` says what
// it is for: graph and cluster of it, asked for where they are named, give plans of other tools (client/importer/plans)
// their operators and devices, and its problem says how these are read. INVALID_ARGUMENT, with `hint` where nothing
// better is known; errors of GetPlan.
absl::StatusOr<v1::Plan> LoadPlan(const std::string& name, const v1::CreatePlanRequest& input, std::string_view hint,
                                  const ServerFlags& server, Environment& environment);

struct GivenPlan {
  // Graph, cluster, and the problem that the graph's file may state.
  v1::CreatePlanRequest input;
  v1::Plan plan;

  // What the graph is, as InputFlags::model.
  std::string model;

  // What the plan says, else what the graph's file and `asked` say: training as people do it, where the model
  // tells, and stages that need not be contiguous where a device has several.
  v1::PlanningProblem Problem(const v1::PlanningProblem& asked = {}) const;
};

class GivenPlanFlags {
 public:
  // `server` outlives this.
  explicit GivenPlanFlags(const ServerFlags& server) : server_(server), input_(server) {}

  FlagGroup Flags();
  // As InputFlags::WithFileFlags.
  std::vector<FlagGroup> WithFileFlags(std::vector<FlagGroup> groups) {
    return input_.WithFileFlags(std::move(groups));
  }

  // `asked`: settings of the problem that flags state, under which plans of other tools are read. Errors: those of
  // LoadPlan.
  absl::StatusOr<GivenPlan> Load(Environment& environment, const v1::PlanningProblem& asked = {});

  std::string Title() const { return input_.Title(); }

 private:
  const ServerFlags& server_;
  InputFlags input_;
  std::string plan_;
};

// Moves graph and cluster of `input`, whether given or named, into a request with the same sources.
template <typename Request>
void MoveSources(v1::CreatePlanRequest&& input, Request& request) {
  if (input.has_graph()) {
    *request.mutable_graph() = std::move(*input.mutable_graph());
  } else {
    request.set_graph_reference(input.graph_reference());
  }
  if (input.has_cluster()) {
    *request.mutable_cluster() = std::move(*input.mutable_cluster());
  } else {
    request.set_cluster_reference(input.cluster_reference());
  }
}

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_COMMANDS_GIVEN_PLAN_H_
