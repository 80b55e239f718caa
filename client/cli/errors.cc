#include "client/cli/errors.h"

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/library/error_details.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

constexpr char kHintPayload[] = "planwright.client/hint";

// What can be done about an error that brought no hint of its own.
std::string HintFor(const absl::Status& status, const ErrorDetails& details) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return "Mend what is named above and try again.";
    case absl::StatusCode::kNotFound:
      return "`planwright models` and `planwright topologies` list what there is.";
    case absl::StatusCode::kFailedPrecondition:
      if (details.infeasible.has_value() && details.infeasible->minimum_devices() > 0) {
        return absl::StrCat("No plan exists for this cluster. ", details.infeasible->minimum_devices(),
                            " devices would lift the shortage.");
      }
      return "No plan exists for this cluster: give it more of what is missing.";
    case absl::StatusCode::kDeadlineExceeded:
      if (details.limit == "work_limit") return "Allow more work with --work_limit.";
      // A search that ended by itself has said what would help.
      return details.reason == "NO_PLAN_FOUND" && details.limit.empty() ? "" : "Allow more time with --time_limit.";
    case absl::StatusCode::kUnavailable:
      return "Is planwrightd running there? Without --server and PLANWRIGHT_SERVER, or with --local, planning happens "
             "in this process.";
    case absl::StatusCode::kResourceExhausted:
      return details.retry_after.has_value()
                 ? absl::StrCat("Try again in ", absl::FormatDuration(*details.retry_after), ".")
                 : "Make the request smaller, or raise the limit that is named.";
    case absl::StatusCode::kUnimplemented:
      return "The server speaks another version of the contract: see `planwright server-info`.";
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return "This is a defect of Planwright: please report it with the input that led to it.";
    default:
      return "";
  }
}

void PrintLine(std::string_view text, std::ostream& out) { out << "error: " << Printable(text) << "\n"; }

void PrintViolations(const ErrorDetails& details, std::ostream& out) {
  for (const FieldViolation& violation : details.violations) {
    PrintLine(absl::StrCat(violation.field, violation.field.empty() ? "" : ": ", violation.description), out);
  }
  const int64_t unlisted = details.violation_count - std::ssize(details.violations);
  if (unlisted > 0) PrintLine(absl::StrCat("... and ", unlisted, " more"), out);
}

}  // namespace

absl::Status WithHint(absl::Status status, std::string_view hint) {
  status.SetPayload(kHintPayload, absl::Cord(std::string(hint)));
  return status;
}

absl::Status WithDefaultHint(absl::Status status, std::string_view hint) {
  if (status.ok() || status.GetPayload(kHintPayload).has_value()) return status;
  return WithHint(std::move(status), hint);
}

absl::Status UsageError(std::string_view message, std::string_view hint) {
  return WithHint(absl::InvalidArgumentError(std::string(message)), hint);
}

void PrintError(const absl::Status& status, std::ostream& out) {
  const ErrorDetails details = ErrorDetailsOf(status);
  if (!details.violations.empty()) {
    PrintViolations(details, out);
  } else if (details.infeasible.has_value() && !details.infeasible->reasons().empty()) {
    for (const auto& reason : details.infeasible->reasons()) {
      PrintLine(absl::StrCat("infeasible: ", reason.description()), out);
    }
  } else {
    for (const absl::string_view line : absl::StrSplit(status.message(), '\n'))
      PrintLine({line.data(), line.size()}, out);
  }
  const auto payload = status.GetPayload(kHintPayload);
  const std::string hint = payload.has_value() ? std::string(*payload) : HintFor(status, details);
  if (!hint.empty()) out << Printable(hint) << "\n";
}

ExitCode ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
      return ExitCode::kUsage;
    case absl::StatusCode::kFailedPrecondition:
      return ExitCode::kInfeasible;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnimplemented:
      return ExitCode::kServer;
    case absl::StatusCode::kDeadlineExceeded:
      return ExitCode::kNoPlan;
    case absl::StatusCode::kCancelled:
      return ExitCode::kInterrupted;
    default:
      return ExitCode::kInternal;
  }
}

}  // namespace planwright::client
