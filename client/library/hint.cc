#include "client/library/hint.h"

#include "absl/strings/cord.h"

namespace planwright::client {
namespace {

constexpr char kHintPayload[] = "planwright.client/hint";

}  // namespace

absl::Status WithHint(absl::Status status, std::string_view hint) {
  status.SetPayload(kHintPayload, absl::Cord(std::string(hint)));
  return status;
}

std::optional<std::string> HintOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kHintPayload);
  if (!payload.has_value()) return std::nullopt;
  return std::string(*payload);
}

}  // namespace planwright::client
