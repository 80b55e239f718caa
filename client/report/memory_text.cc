#include "client/report/memory_text.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/report/quantities.h"

namespace planwright::client {
namespace {

// Returns the device in use with a limit that has the least room left in proportion; without any the one that holds
// most. nullptr: no device is in use, or none is said.
const v1::DeviceUsage* FullestDevice(const v1::Plan& plan) {
  const auto share = [](const v1::DeviceUsage& device) {
    return static_cast<double>(device.memory_bytes()) / static_cast<double>(device.memory_limit_bytes());
  };
  const v1::DeviceUsage* fullest = nullptr;
  for (const v1::DeviceUsage& device : plan.devices()) {
    if (device.stages().empty()) continue;
    const bool is_limited = device.memory_limit_bytes() > 0;
    const bool is_fuller =
        fullest == nullptr || (is_limited && fullest->memory_limit_bytes() <= 0) ||
        (is_limited ? share(device) > share(*fullest)
                    : !fullest->has_memory_limit_bytes() && device.memory_bytes() > fullest->memory_bytes());
    if (is_fuller) fullest = &device;
  }
  return fullest;
}

// The greatest limit of the devices in use that have one.
std::optional<int64_t> GreatestLimit(const v1::Plan& plan) {
  std::optional<int64_t> greatest;
  for (const v1::DeviceUsage& device : plan.devices()) {
    if (device.stages().empty() || !device.has_memory_limit_bytes()) continue;
    greatest = std::max(greatest.value_or(0), device.memory_limit_bytes());
  }
  return greatest;
}

// "1 micro-batch in flight", "1 to 8 micro-batches in flight".
std::string InFlightText(const v1::Plan& plan) {
  const auto less = [](const v1::Stage& a, const v1::Stage& b) {
    return a.in_flight_micro_batches() < b.in_flight_micro_batches();
  };
  const auto [least, most] = std::minmax_element(plan.stages().begin(), plan.stages().end(), less);
  if (least == plan.stages().end()) return "no micro-batch in flight";
  const std::string all = CountedText(most->in_flight_micro_batches(), "micro-batch", "micro-batches") + " in flight";
  if (least->in_flight_micro_batches() == most->in_flight_micro_batches()) return all;
  return absl::StrCat(GroupedText(least->in_flight_micro_batches()), " to ", all);
}

// "parameters", "2 versions of the parameters".
std::string CopiesText(int32_t copies, const char* kind, const char* noun) {
  return copies == 1 ? noun : absl::StrCat(GroupedText(copies), " ", kind, " of the ", noun);
}

std::string ComponentsText(const v1::Plan& plan) {
  const v1::MemoryModel& memory = plan.problem().memory_model();
  std::vector<std::string> parts = {CopiesText(memory.weight_versions(), "versions", "parameters")};
  if (memory.gradient_copies() > 0) parts.push_back(CopiesText(memory.gradient_copies(), "copies", "gradients"));
  if (memory.optimizer_bytes_per_parameter_byte() > 0) {
    parts.push_back(
        absl::StrFormat("an optimizer of %.4g times the parameters", memory.optimizer_bytes_per_parameter_byte()));
  }
  if (plan.problem().workload() == v1::WORKLOAD_TRAINING) parts.push_back(InFlightText(plan));
  parts.emplace_back("buffers");
  if (memory.reserved_bytes() > 0) parts.push_back(BytesText(memory.reserved_bytes()) + " reserved");
  return absl::StrJoin(parts, ", ");
}

}  // namespace

std::string CountedMemoryText(const v1::Plan& plan) {
  if (plan.estimate().peak_memory_bytes() == 0) return "";
  const v1::DeviceUsage* fullest = FullestDevice(plan);
  const int64_t bytes = fullest == nullptr ? plan.estimate().peak_memory_bytes() : fullest->memory_bytes();
  const bool is_limited = fullest != nullptr && fullest->has_memory_limit_bytes();
  const std::string text =
      absl::StrCat(BytesText(bytes), is_limited ? absl::StrCat(" of ", BytesText(fullest->memory_limit_bytes())) : "",
                   " on the fullest device");
  switch (plan.problem().memory_model().kind()) {
    case v1::MemoryModel::KIND_DECLARED:
      return text + ": what the operators declare, once whatever the schedule";
    case v1::MemoryModel::KIND_COMPONENTS:
      return absl::StrCat(text, ": ", ComponentsText(plan));
    default:
      return text;
  }
}

std::string UncountedMemoryText(const v1::Plan& plan) {
  const std::optional<int64_t> limit = GreatestLimit(plan);
  return absl::StrJoin(plan.estimate().uncounted_memory(), ", ", [&](std::string* text, const auto& uncounted) {
    const bool is_too_much = limit.has_value() && uncounted.peak_memory_bytes() > *limit;
    absl::StrAppend(text, uncounted.what(), " (would make it ", BytesText(uncounted.peak_memory_bytes()),
                    is_too_much ? ": too much)" : ")");
  });
}

}  // namespace planwright::client
