// Errors of the planning service in the words of a review.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_ERRORS_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_ERRORS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/webhook/review/devices.h"
#include "client/webhook/review/pools.h"

namespace planwright::webhook {

// Why a job is admitted with a warning; a label of the counter.
enum class Reason {
  // An annotation is wrong.
  kAnnotation,
  // No pool, or none of this name.
  kPool,
  // The pool is too small for the pods.
  kCapacity,
  // The numbers of the pool are old.
  kStale,
  // Pods cannot be counted, or are of a shape that is not judged.
  kShape,
  // Proven that it does not fit, where that does not deny.
  kInfeasible,
  // The service: cannot be reached, took too long, refused, does not know the graph, calls the problem wrong, or
  // failed.
  kUnavailable,
  kDeadline,
  kRefused,
  kNotFound,
  kInvalid,
  kInternal,
  // Planned, but ranks or arguments of the trainer could not be written.
  kRanks,
  kTrainer,
};

// "annotation", "pool", ...
std::string_view ReasonName(Reason reason);

struct Warning {
  Reason reason = Reason::kInternal;
  std::string text;
};

// Whether `status` proves that no plan exists: FAILED_PRECONDITION with the reason INFEASIBLE, nothing else.
bool IsProvenInfeasible(const absl::Status& status);

// What does not fit, by how much, and what would help, in the words of the proof: "it cannot fit 8 nvidia.com/gpu of
// 80.00 GiB of pool h100: the model needs 2.07 TiB, but ... At least 28 accelerators are needed: ...". REQUIRES:
// IsProvenInfeasible(status).
std::string InfeasibleText(const absl::Status& status, const Demand& demand, const Pool& pool);

// The warning for any other error. REQUIRES: !status.ok().
Warning WarningOf(const absl::Status& status);

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_ERRORS_H_
