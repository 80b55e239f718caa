#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/commands/commands.h"
#include "client/cli/commands/operation_result.h"
#include "client/cli/commands/request_id.h"
#include "client/cli/commands/store_access.h"
#include "client/cli/commands/training_memory.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/input_flags.h"
#include "client/cli/terminal/message_flags.h"
#include "client/cli/terminal/shared_flags.h"

namespace planwright::client {
namespace {

// Lists of the grid; each takes the place of the flag of `plan` that stands beside it, if any.
struct Axis {
  const char* name;
  const char* path;
  const char* replaces;
  const char* help;
};
constexpr std::array<Axis, 6> kAxes = {{
    {"global_batches", "global_batches", "", "samples of a step: plans of the joint search, ranked by time per sample"},
    {"stages", "num_stages", "stages", "numbers of stages"},
    {"replicas", "num_replicas", "replicas", "numbers of replicas of every stage"},
    {"micro_batches", "micro_batches", "micro_batches", "numbers of micro-batches of a step"},
    {"schedules", "schedules", "schedule", "orders of work"},
    {"max_devices", "max_devices", "max_devices", "largest numbers of devices"},
}};

class SweepCommand final : public Command {
 public:
  std::string_view name() const override { return "sweep"; }
  std::string_view summary() const override { return "plan every combination of some settings and rank the plans"; }
  std::string_view usage() const override {
    return "planwright sweep --graph=FILE|NAME [--cluster=FILE|NAME] --AXIS=VALUE,VALUE,... --server=HOST:PORT "
           "[flags]\n"
           "\n"
           "Every combination is an operation of its own, which any server of the store takes; those without a plan "
           "say "
           "why.\n"
           "Exit code 0: at least one of them has a plan; else 2 all were refused, 3 some are infeasible, 5 none was "
           "found.\n"
           "\n"
           "Examples:\n"
           "  planwright sweep --graph=zoo:bert-large --cluster=zoo:pcie:8 --max_devices=2,4,8 "
           "--server=localhost:50051\n"
           "  planwright sweep --graph=zoo:llama3-8b --cluster=zoo:dgx-h100:2 --global_batches=64,128,256 "
           "--server=localhost:50051\n";
  }

  std::vector<FlagGroup> Flags() override {
    FlagGroup grid{"Grid", {}};
    for (const Axis& axis : kAxes) grid.flags.push_back(MessageFlag(axis.name, axis.path, axis.help, request_));
    grid.flags.push_back(StringFlag("request_id", "ID", "a name of your own: submitting it again submits nothing",
                                    *request_.mutable_request_id()));
    grid.flags.push_back(SwitchFlag("detach", "print the name of the operation and do not wait", detach_));
    FlagGroup problem = ProblemFlags(problem_);
    std::erase_if(problem.flags, [](const Flag& flag) {
      return std::any_of(kAxes.begin(), kAxes.end(), [&](const Axis& axis) { return flag.name == axis.replaces; });
    });
    return input_.WithFileFlags(
        {input_.Flags(), std::move(grid), std::move(problem), SolverFlags(options_), server_.Flags(), output_.Flags()});
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    // Graphs of the joint search are loaded for a batch; a row with a bad one says so itself.
    const auto& batches = request_.global_batches();
    if (problem_.joint().global_batch() == 0 && !batches.empty()) {
      problem_.mutable_joint()->set_global_batch(*std::max_element(batches.begin(), batches.end()));
    }
    auto plan_request = input_.LoadRequest(problem_, options_, environment);
    if (!plan_request.ok()) return plan_request.status();
    // Schedules of the grid may be of any kind.
    const std::string asked = request_.schedules().empty() ? AskForTrainingMemory(*plan_request, input_.model()) : "";
    if (!asked.empty()) PrintNote("note: ", asked, environment.err);
    *request_.mutable_plan_request() = *std::move(plan_request);
    if (request_.request_id().empty()) request_.set_request_id(NewRequestId(input_.Title()));
    const auto access = ConnectToStore(server_, environment);
    if (!access.ok()) return access.status();
    const auto response = access->store->SweepPlans(request_, ShortCall(environment));
    if (!response.ok()) return response.status();
    if (detach_) {
      const absl::Status written = output_.Write(response->operation().name() + "\n", environment);
      if (!written.ok()) return written;
      return ExitCode::kOk;
    }
    const auto ended = WaitForEnd(*access->store, response->operation().name(), environment);
    if (!ended.ok()) return ended.status();
    return WriteResult(*ended, output_, environment);
  }

 private:
  v1::SweepPlansRequest request_;
  v1::PlanningProblem problem_;
  v1::SolverOptions options_;
  bool detach_ = false;
  ServerFlags server_;
  InputFlags input_{server_};
  OutputFlags output_;
};

}  // namespace

std::unique_ptr<Command> MakeSweepCommand() { return std::make_unique<SweepCommand>(); }

}  // namespace planwright::client
