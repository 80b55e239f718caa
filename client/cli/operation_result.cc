#include "client/cli/operation_result.h"

#include "client/cli/errors.h"
#include "client/library/error_details.h"
#include "client/report/json.h"
#include "client/report/store_report.h"
#include "client/report/text_report.h"

namespace planwright::client {
namespace {

bool HasEnded(v1::Operation::State state) {
  return state != v1::Operation::STATE_QUEUED && state != v1::Operation::STATE_RUNNING;
}

std::string TextOf(const v1::Operation& operation, const OutputFlags& output) {
  if (output.is_json()) return JsonText(operation);
  if (operation.has_sweep()) return SweepReport(operation);
  if (operation.has_plan()) return PlanReport(operation.plan(), operation.name());
  return operation.name() + ": " + StateText(operation.state()) + "\n";
}

}  // namespace

absl::StatusOr<v1::Operation> WaitForEnd(StoreClient& store, const std::string& name, const Environment& environment) {
  v1::WaitOperationRequest request;
  request.set_name(name);
  while (true) {
    auto response = store.WaitOperation(request, ShortCall(environment));
    if (!response.ok()) return WithDefaultHint(response.status(), "`planwright operations` lists what there is.");
    if (HasEnded(response->operation().state())) return response->operation();
  }
}

absl::StatusOr<ExitCode> WriteResult(const v1::Operation& operation, const OutputFlags& output,
                                     Environment& environment) {
  if (operation.has_error() && !output.is_json()) {
    const google::rpc::Status& error = operation.error();
    return WithErrorDetails(absl::Status(static_cast<absl::StatusCode>(error.code()), error.message()),
                            error.SerializeAsString());
  }
  const absl::Status written = output.Write(TextOf(operation, output), environment);
  if (!written.ok()) return written;
  return ExitCode::kOk;
}

}  // namespace planwright::client
