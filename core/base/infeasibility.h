// How searches fail, carried inside an absl::Status: a proof that no plan exists, no plan and no proof, a rejected
// plan.
#ifndef PLANWRIGHT_CORE_BASE_INFEASIBILITY_H_
#define PLANWRIGHT_CORE_BASE_INFEASIBILITY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace planwright {

// One shortage that no plan can avoid.
struct Shortage {
  // "memory", "support", "devices", "operators" (fewer than stages), "choices" (that do not go together) or "time" (a
  // target period that cannot be met).
  std::string resource;
  // What needs it, e.g. the name of an operator; may be empty.
  std::string subject;
  int64_t needed_bytes = 0;
  int64_t available_bytes = 0;
  // A sentence that says what is missing and what to change.
  std::string description;

  bool operator==(const Shortage&) const = default;
};

struct Infeasibility {
  // The most shortages that one search lists, as people read them.
  static constexpr std::size_t kMaxListed = 10;

  // Keeps the first kMaxListed and counts the rest.
  void Add(Shortage shortage);

  std::vector<Shortage> shortages;
  // See InfeasibleDetail.minimum_devices; 0: none or not known.
  int32_t minimum_devices = 0;
  // Shortages beside those that are listed.
  int64_t unlisted = 0;

  bool operator==(const Infeasibility&) const = default;
};

// FAILED_PRECONDITION whose message joins the descriptions. REQUIRES: at least one shortage.
absl::Status InfeasibleError(const Infeasibility& infeasibility);

// What InfeasibleError packed; nullopt for any other status.
std::optional<Infeasibility> InfeasibilityOf(const absl::Status& status);

// What ended a search that found nothing: more of it may help.
enum class SpentLimit { kNone, kTime, kWork };

// DEADLINE_EXCEEDED: neither a plan nor a proof was found before the search had to stop.
absl::Status NoPlanFoundError(const std::string& message, SpentLimit spent = SpentLimit::kNone);

// Whether NoPlanFoundError made `status`.
bool IsNoPlanFound(const absl::Status& status);

// The limit that NoPlanFoundError was told; kNone for any other status.
SpentLimit SpentLimitOf(const absl::Status& status);

// INTERNAL: a plan of our own failed its verification, a defect that somebody must hear of.
absl::Status RejectedPlanError(const std::string& message);

// Whether RejectedPlanError made `status`.
bool IsRejectedPlan(const absl::Status& status);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_INFEASIBILITY_H_
