#include "core/base/violations.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/text_records.h"

namespace planwright {
namespace {

constexpr char kPayloadUrl[] = "planwright/violations";
constexpr char kUnlistedUrl[] = "planwright/unlisted_violations";

}  // namespace

void Violations::Add(std::string path, std::string rule) {
  if (listed_.size() == kMaxListed) {
    ++unlisted_count_;
    return;
  }
  listed_.push_back({std::move(path), std::move(rule)});
}

absl::Status Violations::ToStatus() const {
  if (empty()) return absl::OkStatus();
  std::string message;
  std::vector<Record> records;
  for (const Violation& violation : listed_) {
    absl::StrAppend(&message, message.empty() ? "" : "\n", violation.path, ": ", violation.rule);
    records.push_back({violation.path, violation.rule});
  }
  if (unlisted_count_ > 0) absl::StrAppend(&message, "\n... and ", unlisted_count_, " more");
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kPayloadUrl, absl::Cord(PackRecords(records)));
  status.SetPayload(kUnlistedUrl, absl::Cord(absl::StrCat(unlisted_count_)));
  return status;
}

std::vector<Violation> ViolationsOf(const absl::Status& status) {
  std::vector<Violation> violations;
  const auto payload = status.GetPayload(kPayloadUrl);
  if (!payload.has_value()) return violations;
  for (Record& record : UnpackRecords(static_cast<std::string>(*payload))) {
    violations.push_back({std::move(record.at(0)), std::move(record.at(1))});
  }
  return violations;
}

std::size_t UnlistedViolationsOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kUnlistedUrl);
  std::size_t count = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(static_cast<std::string>(*payload), &count)) return 0;
  return count;
}

}  // namespace planwright
