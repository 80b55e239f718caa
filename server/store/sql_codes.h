// Values of columns: how enumerators and texts are written. The numbers are part of the schema.
#ifndef PLANWRIGHT_SERVER_STORE_SQL_CODES_H_
#define PLANWRIGHT_SERVER_STORE_SQL_CODES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "server/store/database/sql_result.h"
#include "server/store/store.h"

namespace planwright::server {

constexpr int64_t CodeOf(DocumentKind kind) {
  switch (kind) {
    case DocumentKind::kPlan:
      return 1;
    case DocumentKind::kGraph:
      return 2;
    case DocumentKind::kCluster:
      return 3;
    case DocumentKind::kAnswer:
      return 4;
  }
  return 0;
}

constexpr int64_t CodeOf(OperationState state) {
  switch (state) {
    case OperationState::kQueued:
      return 1;
    case OperationState::kRunning:
      return 2;
    case OperationState::kSucceeded:
      return 3;
    case OperationState::kFailed:
      return 4;
    case OperationState::kCancelled:
      return 5;
  }
  return 0;
}

// A code that a newer release has written counts as kFailed, the one that no worker acts on.
constexpr OperationState StateOf(int64_t code) {
  for (const OperationState state :
       {OperationState::kQueued, OperationState::kRunning, OperationState::kSucceeded, OperationState::kCancelled}) {
    if (CodeOf(state) == code) return state;
  }
  return OperationState::kFailed;
}

inline SqlValue Text(std::string_view text) { return std::string(text); }
inline SqlValue Blob(std::string bytes) { return Bytes{std::move(bytes)}; }

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_SQL_CODES_H_
