#include "client/cli/terminal/errors.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/library/error_details.h"
#include "client/report/quantities.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

// Lines of a field and the flag that sets it: of the flags that were given, and of all.
constexpr char kGivenFlagsPayload[] = "planwright.client/given-flags";
constexpr char kFlagsPayload[] = "planwright.client/flags";

// Whether a proof says that no plan exists; preconditions of servers, such as a store, are none.
bool IsInfeasible(const ErrorDetails& details) {
  return details.reason == "INFEASIBLE" || details.infeasible.has_value();
}

std::string PreconditionHint(const ErrorDetails& details) {
  if (details.reason == "NO_STORE") return "Ask a server that keeps plans: name it with --server.";
  if (!IsInfeasible(details)) return "";
  if (details.infeasible.has_value() && details.infeasible->minimum_devices() > 0) {
    return absl::StrCat("No plan exists with these settings on this cluster; memory suffices from ",
                        GroupedText(details.infeasible->minimum_devices()), " devices on.");
  }
  const auto is_of_settings = [](const v1::InfeasibleDetail::Reason& reason) {
    return reason.resource() == "choices" || reason.resource() == "operators";
  };
  if (details.infeasible.has_value() && std::ranges::any_of(details.infeasible->reasons(), is_of_settings)) {
    return "No plan exists with these settings, whatever the cluster: change them.";
  }
  return "No plan exists with these settings on this cluster: give it more of what is missing, or allow more choices.";
}

std::string UnavailableHint(const absl::Status& status, const ErrorDetails& details) {
  if (details.reason == "STORE_UNAVAILABLE") return "The server answers, its store does not: try again later.";
  const absl::string_view message = status.message();
  if (absl::StrContains(message, "Ssl handshake failed") || absl::StrContains(message, "SSL_ERROR") ||
      absl::StrContains(message, "WRONG_VERSION_NUMBER") || absl::StrContains(message, "CERTIFICATE_VERIFY_FAILED")) {
    return "TLS failed: name the authorities of the server with --tls_ca_file, and your own certificate with "
           "--tls_cert_file where it asks for one; leave these flags out if the server speaks plaintext.";
  }
  if (absl::StrContains(message, "Socket closed")) {
    return "The server closed the connection: if it speaks TLS, name --tls or --tls_ca_file; if it speaks plaintext, "
           "leave them out.";
  }
  return "Is planwrightd running there? Without --server and PLANWRIGHT_SERVER, or with --local, planning happens "
         "in this process.";
}

// What can be done about an error that brought no hint of its own.
std::string HintFor(const absl::Status& status, const ErrorDetails& details) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return "Mend what is named above and try again.";
    case absl::StatusCode::kNotFound:
      return "`planwright models` and `planwright topologies` list what there is.";
    case absl::StatusCode::kFailedPrecondition:
      return PreconditionHint(details);
    case absl::StatusCode::kDeadlineExceeded:
      if (details.limit == "work_limit") return "Allow more work with --work_limit.";
      // A search that ended by itself has said what would help.
      return details.reason == "NO_PLAN_FOUND" && details.limit.empty() ? "" : "Allow more time with --time_limit.";
    case absl::StatusCode::kUnavailable:
      return UnavailableHint(status, details);
    case absl::StatusCode::kUnauthenticated:
      return "Say who you are with --token_file or PLANWRIGHT_TOKEN.";
    case absl::StatusCode::kPermissionDenied:
      return "Ask whoever runs the server for the role, or show another token with --token_file or PLANWRIGHT_TOKEN.";
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

void PrintLine(std::string_view text, std::ostream& out) { PrintNote("error: ", text, out); }

void PrintUnlisted(int64_t count, std::ostream& out) {
  if (count > 0) PrintLine(absl::StrCat("... and ", count, " more"), out);
}

void AddFlag(const Flag& flag, std::string& lines) {
  if (!flag.field.empty()) absl::StrAppend(&lines, flag.field, "\n--", flag.name, "\n");
}

// " (--stages)"; empty: no flag that was given sets the field, or none is known.
std::string FlagText(const absl::Status& status, const FieldViolation& violation) {
  const bool must_be_set = absl::StartsWith(violation.description, "must be set");
  const auto payload = status.GetPayload(must_be_set ? kFlagsPayload : kGivenFlagsPayload);
  if (!payload.has_value()) return "";
  const std::vector<std::string> lines = absl::StrSplit(std::string(*payload), '\n');
  const std::string_view field = std::string_view(violation.field).substr(0, violation.field.find('['));
  for (std::size_t i = 0; i + 1 < lines.size(); i += 2) {
    if (lines[i] == field) return absl::StrCat(" (", lines[i + 1], ")");
  }
  return "";
}

void PrintViolations(const absl::Status& status, const ErrorDetails& details, std::ostream& out) {
  for (const FieldViolation& violation : details.violations) {
    const std::string where = absl::StrCat(violation.field, FlagText(status, violation));
    PrintLine(absl::StrCat(where, where.empty() ? "" : ": ", violation.description), out);
  }
  PrintUnlisted(details.violation_count - std::ssize(details.violations), out);
}

}  // namespace

void PrintNote(std::string_view kind, std::string_view text, std::ostream& out) {
  out << Wrapped(std::string(kind) + Printable(text), kind.size(), CurrentLineLengths().note) << "\n";
}

absl::Status WithDefaultHint(absl::Status status, std::string_view hint) {
  if (status.ok() || absl::IsCancelled(status) || HintOf(status).has_value()) return status;
  return WithHint(std::move(status), hint);
}

absl::Status WithNotFoundHint(absl::Status status, std::string_view hint) {
  return absl::IsNotFound(status) ? WithDefaultHint(std::move(status), hint) : status;
}

absl::Status WithFlags(absl::Status status, std::span<const std::string> arguments, std::span<const FlagGroup> groups) {
  std::string given;
  for (const Flag* flag : GivenFlags(arguments, groups)) AddFlag(*flag, given);
  std::string all = given;
  for (const FlagGroup& group : groups) {
    for (const Flag& flag : group.flags) AddFlag(flag, all);
  }
  status.SetPayload(kGivenFlagsPayload, absl::Cord(given));
  status.SetPayload(kFlagsPayload, absl::Cord(all));
  return status;
}

absl::Status UsageError(std::string_view message, std::string_view hint) {
  return WithHint(absl::InvalidArgumentError(std::string(message)), hint);
}

void PrintError(const absl::Status& status, std::ostream& out) {
  const ErrorDetails details = ErrorDetailsOf(status);
  if (!details.violations.empty()) {
    PrintViolations(status, details, out);
  } else if (details.infeasible.has_value() && !details.infeasible->reasons().empty()) {
    for (const auto& reason : details.infeasible->reasons()) {
      PrintLine(absl::StrCat("infeasible: ", reason.description()), out);
    }
    PrintUnlisted(details.infeasible_reason_count - details.infeasible->reasons_size(), out);
  } else {
    for (const absl::string_view line : absl::StrSplit(status.message(), '\n'))
      PrintLine({line.data(), line.size()}, out);
  }
  const std::optional<std::string> own = HintOf(status);
  const std::string hint = own.has_value() ? *own : HintFor(status, details);
  if (!hint.empty()) PrintNote("", hint, out);
}

ExitCode ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kOutOfRange:
      return ExitCode::kUsage;
    case absl::StatusCode::kFailedPrecondition:
      return IsInfeasible(ErrorDetailsOf(status)) ? ExitCode::kInfeasible : ExitCode::kServer;
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

ExitCode ExitCodeForAll(std::span<const absl::Status> attempts) {
  if (std::any_of(attempts.begin(), attempts.end(), [](const absl::Status& status) { return status.ok(); })) {
    return ExitCode::kOk;
  }
  const auto is = [](ExitCode code) {
    return [code](const absl::Status& status) { return ExitCodeFor(status) == code; };
  };
  if (std::all_of(attempts.begin(), attempts.end(), is(ExitCode::kUsage))) return ExitCode::kUsage;
  const bool has_proof = std::any_of(attempts.begin(), attempts.end(), is(ExitCode::kInfeasible));
  return has_proof ? ExitCode::kInfeasible : ExitCode::kNoPlan;
}

}  // namespace planwright::client
