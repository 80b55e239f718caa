// What the store keeps of the rows of a sweep.
//
// A sweep has up to thousands of rows that differ in a few settings, and what they share can be megabytes. So the sweep
// keeps its request once, and each row only its place in the grid.
//
// Bytes of a row: 0, the version of the format, and the place in decimal digits. Version 1 is the order of
// GridSettings. No message begins with 0: rows that begin otherwise hold a whole CreatePlanRequest, as rows once did.
#ifndef PLANWRIGHT_SERVER_ENGINE_OPERATIONS_SWEEP_ROWS_H_
#define PLANWRIGHT_SERVER_ENGINE_OPERATIONS_SWEEP_ROWS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/store/store.h"

namespace planwright::server {

// The bytes of row `index`.
std::string RowBytes(int64_t index);

// What `operation`, which is no sweep itself, is to plan. REQUIRES: it was read with OperationView::kFull. Errors:
// DATA_LOSS, what is stored of it is damaged, or of a format that this release does not know; those of
// Store::FindOperation for its sweep.
absl::StatusOr<v1::CreatePlanRequest> RequestOf(Store& store, const Operation& operation);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_OPERATIONS_SWEEP_ROWS_H_
