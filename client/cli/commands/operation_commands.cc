// submit, wait and operations.
#include <string>
#include <utility>
#include <vector>

#include "client/cli/commands/commands.h"
#include "client/cli/commands/operation_result.h"
#include "client/cli/commands/request_id.h"
#include "client/cli/commands/store_access.h"
#include "client/cli/commands/training_memory.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/input_flags.h"
#include "client/cli/terminal/shared_flags.h"
#include "client/report/json.h"
#include "client/report/store_report.h"

namespace planwright::client {
namespace {

class SubmitCommand final : public Command {
 public:
  std::string_view name() const override { return "submit"; }
  std::string_view summary() const override { return "plan in the background, on a server that keeps the work"; }
  std::string_view usage() const override {
    return "planwright submit --graph=FILE|NAME [--cluster=FILE|NAME] --server=HOST:PORT [flags]\n"
           "\n"
           "Prints the name of the operation and ends; `planwright wait` waits for it.\n"
           "\n"
           "Examples:\n"
           "  planwright submit --graph=zoo:bert-large --cluster=zoo:pcie:4 --time_limit=30m --server=localhost:50051\n"
           "  planwright submit --graph=zoo:bert-large --cluster=zoo:pcie:4 --request_id=bert-monday "
           "--server=localhost:50051\n";
  }

  std::vector<FlagGroup> Flags() override {
    return input_.WithFileFlags(
        {input_.Flags(),
         ProblemFlags(problem_),
         SolverFlags(options_),
         {"Operation",
          {StringFlag(
               "request_id", "ID",
               "a name of your own: submitting it again submits nothing (default: what is planned, and a number)",
               request_id_),
           StringFlag("plan_id", "ID", "have the server keep the plan as plans/ID", plan_id_)}},
         server_.Flags(),
         output_.Flags()});
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    auto plan_request = input_.LoadRequest(problem_, options_, environment);
    if (!plan_request.ok()) return plan_request.status();
    plan_request->set_plan_id(plan_id_);
    const std::string asked = AskForTrainingMemory(*plan_request, input_.model());
    if (!asked.empty()) PrintNote("note: ", asked, environment.err);
    const auto access = ConnectToStore(server_, environment);
    if (!access.ok()) return access.status();
    v1::SubmitPlanRequest request;
    *request.mutable_plan_request() = *std::move(plan_request);
    request.set_request_id(request_id_.empty() ? NewRequestId(input_.Title()) : request_id_);
    const auto response = access->store->SubmitPlan(request, ShortCall(environment));
    if (!response.ok()) return response.status();
    const v1::Operation& operation = response->operation();
    const absl::Status written =
        output_.Write(output_.is_json() ? JsonText(operation) : operation.name() + "\n", environment);
    if (!written.ok()) return written;
    return ExitCode::kOk;
  }

 private:
  v1::PlanningProblem problem_;
  v1::SolverOptions options_;
  std::string request_id_;
  std::string plan_id_;
  ServerFlags server_;
  InputFlags input_{server_};
  OutputFlags output_;
};

class WaitCommand final : public Command {
 public:
  std::string_view name() const override { return "wait"; }
  std::string_view summary() const override { return "wait for an operation and print what it made"; }
  std::string_view usage() const override {
    return "planwright wait operations/ID --server=HOST:PORT [--output=json]\n"
           "\n"
           "^C ends the waiting, not the operation. Exit codes are those of `planwright plan`.\n"
           "\n"
           "Examples:\n"
           "  planwright wait operations/ID --server=localhost:50051\n"
           "  planwright wait --operation=operations/ID --output=json --server=localhost:50051\n";
  }

  std::vector<FlagGroup> Flags() override {
    Flag operation = StringFlag("operation", "operations/ID",
                                "as `planwright submit` printed it; --operation= may be left out", operation_);
    operation.is_bare = true;
    return {{"Operation", {std::move(operation)}}, server_.Flags(), output_.Flags()};
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    if (operation_.empty())
      return UsageError("the name of the operation is missing",
                        "`planwright submit` printed it; `planwright operations` lists them.");
    const auto access = ConnectToStore(server_, environment);
    if (!access.ok()) return access.status();
    const auto ended = WaitForEnd(*access->store, operation_, environment);
    if (!ended.ok()) return ended.status();
    return WriteResult(*ended, output_, environment);
  }

 private:
  std::string operation_;
  ServerFlags server_;
  OutputFlags output_;
};

class OperationsCommand final : public Command {
 public:
  std::string_view name() const override { return "operations"; }
  std::string_view summary() const override { return "list what is planned in the background, or cancel it"; }
  std::string_view usage() const override {
    return "planwright operations [--cancel=operations/ID] --server=HOST:PORT [--output=json]\n"
           "\n"
           "Examples:\n"
           "  planwright operations --server=localhost:50051\n"
           "  planwright operations --cancel=operations/ID --server=localhost:50051\n";
  }

  std::vector<FlagGroup> Flags() override {
    return {{"Operations",
             {StringFlag("cancel", "operations/ID", "ask this one to stop; it keeps its best plan", cancel_)}},
            server_.Flags(),
            output_.Flags()};
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    const auto access = ConnectToStore(server_, environment);
    if (!access.ok()) return access.status();
    const auto operations = cancel_.empty() ? List(*access->store, environment) : Cancel(*access->store, environment);
    if (!operations.ok()) return WithNotFoundHint(operations.status(), "`planwright operations` lists what there is.");
    v1::ListOperationsResponse all;
    all.mutable_operations()->Add(operations->begin(), operations->end());
    const absl::Status written =
        output_.Write(output_.is_json() ? JsonText(all) : OperationsReport(*operations), environment);
    if (!written.ok()) return written;
    return ExitCode::kOk;
  }

 private:
  static absl::StatusOr<std::vector<v1::Operation>> List(StoreClient& store, const Environment& environment) {
    return ReadPages<v1::Operation>(
        v1::ListOperationsRequest(),
        [&](const v1::ListOperationsRequest& request) { return store.ListOperations(request, ShortCall(environment)); },
        [](v1::ListOperationsResponse& page) { return page.mutable_operations(); });
  }

  absl::StatusOr<std::vector<v1::Operation>> Cancel(StoreClient& store, const Environment& environment) const {
    v1::CancelOperationRequest request;
    request.set_name(cancel_);
    const auto response = store.CancelOperation(request, ShortCall(environment));
    if (!response.ok()) return response.status();
    return std::vector<v1::Operation>{response->operation()};
  }

  std::string cancel_;
  ServerFlags server_;
  OutputFlags output_;
};

}  // namespace

std::unique_ptr<Command> MakeSubmitCommand() { return std::make_unique<SubmitCommand>(); }
std::unique_ptr<Command> MakeWaitCommand() { return std::make_unique<WaitCommand>(); }
std::unique_ptr<Command> MakeOperationsCommand() { return std::make_unique<OperationsCommand>(); }

}  // namespace planwright::client
