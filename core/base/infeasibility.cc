#include "core/base/infeasibility.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/text_records.h"

namespace planwright {
namespace {

constexpr char kInfeasibleUrl[] = "planwright/infeasible";
constexpr char kNoPlanFoundUrl[] = "planwright/no_plan_found";
constexpr char kRejectedPlanUrl[] = "planwright/rejected_plan";

Record ToRecord(const Shortage& shortage) {
  return {shortage.resource, shortage.subject, absl::StrCat(shortage.needed_bytes),
          absl::StrCat(shortage.available_bytes), shortage.description};
}

int64_t ToInteger(const std::string& text) {
  int64_t value = 0;
  return absl::SimpleAtoi(text, &value) ? value : 0;
}

Shortage ToShortage(const Record& record) {
  return {.resource = record.at(0),
          .subject = record.at(1),
          .needed_bytes = ToInteger(record.at(2)),
          .available_bytes = ToInteger(record.at(3)),
          .description = record.at(4)};
}

}  // namespace

void Infeasibility::Add(Shortage shortage) {
  if (shortages.size() == kMaxListed) {
    ++unlisted;
  } else {
    shortages.push_back(std::move(shortage));
  }
}

absl::Status InfeasibleError(const Infeasibility& infeasibility) {
  std::string message = "no plan exists";
  std::vector<Record> records = {{absl::StrCat(infeasibility.minimum_devices), absl::StrCat(infeasibility.unlisted)}};
  for (const Shortage& shortage : infeasibility.shortages) {
    absl::StrAppend(&message, records.size() == 1 ? ": " : "; ", shortage.description);
    records.push_back(ToRecord(shortage));
  }
  if (infeasibility.unlisted > 0) absl::StrAppend(&message, "; and ", infeasibility.unlisted, " more");
  absl::Status status = absl::FailedPreconditionError(message);
  status.SetPayload(kInfeasibleUrl, absl::Cord(PackRecords(records)));
  return status;
}

std::optional<Infeasibility> InfeasibilityOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kInfeasibleUrl);
  if (!payload.has_value()) return std::nullopt;
  const std::vector<Record> records = UnpackRecords(static_cast<std::string>(*payload));
  Infeasibility infeasibility;
  infeasibility.minimum_devices = static_cast<int32_t>(ToInteger(records.at(0).at(0)));
  infeasibility.unlisted = ToInteger(records.at(0).at(1));
  for (std::size_t i = 1; i < records.size(); ++i) infeasibility.shortages.push_back(ToShortage(records[i]));
  return infeasibility;
}

absl::Status NoPlanFoundError(const std::string& message, SpentLimit spent) {
  absl::Status status = absl::DeadlineExceededError(message);
  status.SetPayload(kNoPlanFoundUrl, absl::Cord(absl::StrCat(static_cast<int>(spent))));
  return status;
}

bool IsNoPlanFound(const absl::Status& status) { return status.GetPayload(kNoPlanFoundUrl).has_value(); }

SpentLimit SpentLimitOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kNoPlanFoundUrl);
  return payload.has_value() ? static_cast<SpentLimit>(ToInteger(std::string(*payload))) : SpentLimit::kNone;
}

absl::Status RejectedPlanError(const std::string& message) {
  absl::Status status = absl::InternalError(message);
  status.SetPayload(kRejectedPlanUrl, absl::Cord());
  return status;
}

bool IsRejectedPlan(const absl::Status& status) { return status.GetPayload(kRejectedPlanUrl).has_value(); }

}  // namespace planwright
