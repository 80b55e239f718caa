// Early return for absl::Status and absl::StatusOr.
#ifndef PLANWRIGHT_CORE_BASE_STATUS_MACROS_H_
#define PLANWRIGHT_CORE_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define PLANWRIGHT_CONCAT_INNER(a, b) a##b
#define PLANWRIGHT_CONCAT(a, b) PLANWRIGHT_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expression` is not OK.
#define RETURN_IF_ERROR(expression)                        \
  do {                                                     \
    absl::Status planwright_status = (expression);         \
    if (!planwright_status.ok()) return planwright_status; \
  } while (false)

// Evaluates a StatusOr; returns its status when it is not OK, else moves its value into `target`.
#define ASSIGN_OR_RETURN(target, expression) \
  ASSIGN_OR_RETURN_INNER(PLANWRIGHT_CONCAT(planwright_status_or_, __LINE__), target, expression)

// A declared name and what may be a declaration cannot stand in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define ASSIGN_OR_RETURN_INNER(holder, target, expression) \
  auto holder = (expression);                              \
  if (!holder.ok()) return std::move(holder).status();     \
  target = std::move(holder).value()
// NOLINTEND(bugprone-macro-parentheses)

#endif  // PLANWRIGHT_CORE_BASE_STATUS_MACROS_H_
