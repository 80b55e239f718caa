#include "core/base/violations.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace planwright {
namespace {

constexpr char kPayloadUrl[] = "planwright/violations";
// Paths and rules are text without these two control characters (Sanitize sees to it), so they can frame it.
constexpr char kFieldSeparator = '\x1f';
constexpr char kRecordSeparator = '\x1e';

std::string Sanitize(std::string text) {
  for (char& c : text) {
    if (c == kFieldSeparator || c == kRecordSeparator) c = '?';
  }
  return text;
}

}  // namespace

void Violations::Add(std::string path, std::string rule) {
  if (listed_.size() == kMaxListed) {
    ++unlisted_count_;
    return;
  }
  listed_.push_back({Sanitize(std::move(path)), Sanitize(std::move(rule))});
}

absl::Status Violations::ToStatus() const {
  if (empty()) return absl::OkStatus();
  std::string message;
  std::string payload;
  for (const Violation& violation : listed_) {
    absl::StrAppend(&message, message.empty() ? "" : "\n", violation.path, ": ", violation.rule);
    absl::StrAppend(&payload, payload.empty() ? "" : std::string(1, kRecordSeparator), violation.path,
                    std::string(1, kFieldSeparator), violation.rule);
  }
  if (unlisted_count_ > 0) absl::StrAppend(&message, "\n... and ", unlisted_count_, " more");
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kPayloadUrl, absl::Cord(payload));
  return status;
}

std::vector<Violation> ViolationsOf(const absl::Status& status) {
  std::vector<Violation> violations;
  const auto payload = status.GetPayload(kPayloadUrl);
  if (!payload.has_value()) return violations;
  const std::string text(*payload);
  for (absl::string_view record : absl::StrSplit(text, kRecordSeparator)) {
    const std::pair<std::string, std::string> fields = absl::StrSplit(record, absl::MaxSplits(kFieldSeparator, 1));
    violations.push_back({fields.first, fields.second});
  }
  return violations;
}

}  // namespace planwright
