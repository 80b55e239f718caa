#include "client/cli/commands/operation_result.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/progress.h"
#include "client/library/error_details.h"
#include "client/report/json.h"
#include "client/report/store_report.h"
#include "client/report/text_report.h"

namespace planwright::client {
namespace {

bool HasEnded(v1::Operation::State state) {
  return state != v1::Operation::STATE_QUEUED && state != v1::Operation::STATE_RUNNING;
}

std::string OperationText(const v1::Operation& operation, const OutputFlags& output) {
  if (output.is_json()) return JsonText(operation);
  if (operation.has_sweep()) return SweepReport(operation);
  if (operation.has_plan()) return PlanReport(operation.plan(), operation.name());
  return operation.name() + ": " + StateText(operation.state()) + "\n";
}

void ShowState(const v1::Operation& operation, ProgressDisplay& display) {
  const v1::SweepResult& sweep = operation.sweep();
  display.OnPhase(sweep.rows().empty() ? StateText(operation.state())
                                       : absl::StrCat(sweep.ended(), " of ", sweep.rows_size(), " rows have ended"));
  if (operation.metadata().has_objective_ms()) display.OnIncumbent(operation.metadata().objective_ms());
}

absl::Status StatusOf(const google::rpc::Status& error) {
  return WithErrorDetails(absl::Status(static_cast<absl::StatusCode>(error.code()), error.message()),
                          error.SerializeAsString());
}

ExitCode ExitCodeOf(const v1::Operation& operation) {
  if (operation.has_error()) return ExitCodeFor(StatusOf(operation.error()));
  if (operation.sweep().rows().empty()) return ExitCode::kOk;
  std::vector<absl::Status> attempts;
  for (const v1::SweepResult::Row& row : operation.sweep().rows()) {
    // Rows without plan and error were cancelled.
    attempts.push_back(row.rank() > 0 || row.has_error() ? StatusOf(row.error()) : absl::CancelledError("cancelled"));
  }
  return ExitCodeForAll(attempts);
}

}  // namespace

absl::StatusOr<v1::Operation> WaitForEnd(StoreClient& store, const std::string& name, const Environment& environment) {
  v1::WaitOperationRequest request;
  request.set_name(name);
  const auto display = MakeProgressDisplay(environment.err_is_terminal, /*was_asked_for=*/false, environment.err);
  // Who watches wants news.
  if (display != nullptr) request.mutable_timeout()->set_seconds(1);
  while (true) {
    auto response = store.WaitOperation(request, ShortCall(environment));
    if (!response.ok()) return WithNotFoundHint(response.status(), "`planwright operations` lists what there is.");
    if (HasEnded(response->operation().state())) return response->operation();
    if (display != nullptr) ShowState(response->operation(), *display);
  }
}

absl::StatusOr<ExitCode> WriteResult(const v1::Operation& operation, const OutputFlags& output,
                                     Environment& environment) {
  if (operation.has_error() && !output.is_json()) return StatusOf(operation.error());
  const absl::Status written = output.Write(OperationText(operation, output), environment);
  if (!written.ok()) return written;
  return ExitCodeOf(operation);
}

}  // namespace planwright::client
