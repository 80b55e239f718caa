#include "core/model/periodic_pattern.h"

#include <array>
#include <cstddef>

namespace planwright {
namespace {

// By operation.
constexpr std::array<std::string_view, 4> kNames = {"forward", "backward", "send_forward", "send_backward"};

}  // namespace

std::string_view NameOf(PatternOperation operation) { return kNames.at(static_cast<std::size_t>(operation)); }

std::optional<PatternOperation> PatternOperationOf(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<PatternOperation>(i);
  }
  return std::nullopt;
}

Pass PassOf(PatternOperation operation) {
  return operation == PatternOperation::kForward || operation == PatternOperation::kSendForward ? Pass::kForward
                                                                                                : Pass::kBackward;
}

}  // namespace planwright
