#include "core/base/infeasibility.h"

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace planwright {
namespace {

constexpr char kInfeasibleUrl[] = "planwright/infeasible";
constexpr char kNoPlanFoundUrl[] = "planwright/no_plan_found";
constexpr char kFieldSeparator = '\x1f';
constexpr char kRecordSeparator = '\x1e';

Shortage ParseShortage(absl::string_view record) {
  const std::vector<std::string> fields = absl::StrSplit(record, kFieldSeparator);
  Shortage shortage;
  if (fields.size() != 5) return shortage;
  shortage.resource = fields[0];
  shortage.subject = fields[1];
  if (!absl::SimpleAtoi(fields[2], &shortage.needed_bytes)) shortage.needed_bytes = 0;
  if (!absl::SimpleAtoi(fields[3], &shortage.available_bytes)) shortage.available_bytes = 0;
  shortage.description = fields[4];
  return shortage;
}

}  // namespace

absl::Status InfeasibleError(const Infeasibility& infeasibility) {
  std::string message = "no plan exists";
  std::string payload = absl::StrCat(infeasibility.minimum_devices);
  for (const Shortage& shortage : infeasibility.shortages) {
    absl::StrAppend(&message, &shortage == &infeasibility.shortages.front() ? ": " : "; ", shortage.description);
    absl::StrAppend(&payload, std::string(1, kRecordSeparator),
                    absl::StrJoin({shortage.resource, shortage.subject, absl::StrCat(shortage.needed_bytes),
                                   absl::StrCat(shortage.available_bytes), shortage.description},
                                  std::string(1, kFieldSeparator)));
  }
  absl::Status status = absl::FailedPreconditionError(message);
  status.SetPayload(kInfeasibleUrl, absl::Cord(payload));
  return status;
}

std::optional<Infeasibility> InfeasibilityOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kInfeasibleUrl);
  if (!payload.has_value()) return std::nullopt;
  Infeasibility infeasibility;
  const std::vector<std::string> records = absl::StrSplit(std::string(*payload), kRecordSeparator);
  if (!absl::SimpleAtoi(records.front(), &infeasibility.minimum_devices)) infeasibility.minimum_devices = 0;
  for (std::size_t i = 1; i < records.size(); ++i) infeasibility.shortages.push_back(ParseShortage(records[i]));
  return infeasibility;
}

absl::Status NoPlanFoundError(const std::string& message) {
  absl::Status status = absl::DeadlineExceededError(message);
  status.SetPayload(kNoPlanFoundUrl, absl::Cord());
  return status;
}

bool IsNoPlanFound(const absl::Status& status) { return status.GetPayload(kNoPlanFoundUrl).has_value(); }

}  // namespace planwright
