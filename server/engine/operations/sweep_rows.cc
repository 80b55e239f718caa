#include "server/engine/operations/sweep_rows.h"

#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "server/engine/operations/sweep_grid.h"

namespace planwright::server {
namespace {

constexpr std::string_view kFormat("\0\1", 2);

absl::Status Damaged() { return absl::DataLossError("the stored request is damaged: submit it anew"); }

}  // namespace

std::string RowBytes(int64_t index) { return absl::StrCat(ToAbsl(kFormat), index); }

absl::StatusOr<v1::CreatePlanRequest> RequestOf(Store& store, const Operation& operation) {
  const std::string_view bytes = operation.request;
  if (!bytes.starts_with(kFormat.front())) {
    v1::CreatePlanRequest request;
    if (!request.ParseFromString(operation.request)) return Damaged();
    return request;
  }
  int64_t index = 0;
  if (!bytes.starts_with(kFormat) || !absl::SimpleAtoi(ToAbsl(bytes.substr(kFormat.size())), &index)) return Damaged();
  ASSIGN_OR_RETURN(const Operation stored,
                   store.FindOperation(operation.tenant, operation.parent, OperationView::kFull));
  v1::SweepPlansRequest sweep;
  if (!sweep.ParseFromString(stored.request) || index < 0 || index >= GridSize(sweep)) return Damaged();
  v1::CreatePlanRequest request = std::move(*sweep.mutable_plan_request());
  ApplySettings(GridSettings(sweep, index), *request.mutable_problem());
  return request;
}

}  // namespace planwright::server
