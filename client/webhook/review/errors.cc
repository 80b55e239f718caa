#include "client/webhook/review/errors.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/library/error_details.h"
#include "client/report/quantities.h"
#include "client/report/table.h"

namespace planwright::webhook {
namespace {

using client::BytesText;
using client::ErrorDetails;
using client::ErrorDetailsOf;

constexpr std::size_t kMaxShortageBytes = 600;

std::string Said(absl::string_view message) { return client::Printable({message.data(), message.size()}); }

// In the words of the first reason, the tightest one: what its subject and its bytes are is said there.
std::string FirstShortage(const ErrorDetails& details, const absl::Status& status) {
  const bool has_reason = details.infeasible.has_value() && details.infeasible->reasons_size() > 0;
  return has_reason ? Clipped(Said(details.infeasible->reasons(0).description()), kMaxShortageBytes)
                    : Said(status.message());
}

std::string MemoryText(const Pool& pool) {
  if (!pool.device_class.has_memory_bytes()) return "";
  const int64_t memory = std::max<int64_t>(0, pool.device_class.memory_bytes() - pool.reserved_memory_bytes);
  return absl::StrCat(" of ", BytesText(memory));
}

std::string HelpText(const ErrorDetails& details, const Demand& demand) {
  const int64_t minimum = details.infeasible.has_value() ? details.infeasible->minimum_devices() : 0;
  if (minimum <= demand.devices()) {
    return "What would help: accelerators with more memory, a smaller micro-batch, recomputation=full or a "
           "memory_preset that keeps less";
  }
  const int64_t pods = (minimum + demand.devices_per_pod - 1) / demand.devices_per_pod;
  return absl::StrCat("At least ", minimum, " accelerators are needed: ", pods, " pods instead of ", demand.pods);
}

Warning InvalidText(const absl::Status& status, const ErrorDetails& details) {
  if (details.violations.empty()) return {Reason::kInvalid, absl::StrCat("not judged: ", Said(status.message()))};
  const client::FieldViolation& first = details.violations.front();
  const int64_t others = details.violation_count - 1;
  return {Reason::kInvalid, absl::StrCat("not judged: ", Said(first.field), ": ", Said(first.description),
                                         others > 0 ? absl::StrCat(" (and ", others, " more)") : "")};
}

}  // namespace

std::string_view ReasonName(Reason reason) {
  switch (reason) {
    case Reason::kAnnotation:
      return "annotation";
    case Reason::kPool:
      return "pool";
    case Reason::kCapacity:
      return "capacity";
    case Reason::kStale:
      return "stale";
    case Reason::kShape:
      return "shape";
    case Reason::kInfeasible:
      return "infeasible";
    case Reason::kUnavailable:
      return "unavailable";
    case Reason::kDeadline:
      return "deadline";
    case Reason::kRefused:
      return "refused";
    case Reason::kNotFound:
      return "not_found";
    case Reason::kInvalid:
      return "invalid";
    case Reason::kInternal:
      return "internal";
    case Reason::kRanks:
      return "ranks";
    case Reason::kTrainer:
      return "trainer";
  }
  return "";
}

bool IsProvenInfeasible(const absl::Status& status) {
  return status.code() == absl::StatusCode::kFailedPrecondition && ErrorDetailsOf(status).reason == "INFEASIBLE";
}

std::string InfeasibleText(const absl::Status& status, const Demand& demand, const Pool& pool) {
  const ErrorDetails details = ErrorDetailsOf(status);
  return absl::StrCat("it cannot fit ", demand.devices(), " ", pool.resource, MemoryText(pool), " of pool ", pool.name,
                      ": ", FirstShortage(details, status), ". ", HelpText(details, demand));
}

Warning WarningOf(const absl::Status& status) {
  const ErrorDetails details = ErrorDetailsOf(status);
  const std::string said = Said(status.message());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return InvalidText(status, details);
    case absl::StatusCode::kNotFound:
      return {Reason::kNotFound, absl::StrCat("not judged: ", said)};
    case absl::StatusCode::kUnavailable:
      return {Reason::kUnavailable, "not judged: planwrightd cannot be reached"};
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return {Reason::kDeadline, "not judged: neither a plan nor a proof was found in time"};
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kUnimplemented:
      return {Reason::kRefused, absl::StrCat("not judged: planwrightd refused: ", said)};
    default:
      return {Reason::kInternal, absl::StrCat("not judged: ", said)};
  }
}

}  // namespace planwright::webhook
