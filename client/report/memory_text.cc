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

// Of a device that is as full as any. nullopt: unlimited, or it is not said.
std::optional<int64_t> LimitOfTheFullest(const v1::Plan& plan) {
  for (const v1::DeviceUsage& device : plan.devices()) {
    const bool is_fullest = device.memory_bytes() == plan.estimate().peak_memory_bytes();
    if (is_fullest && device.has_memory_limit_bytes()) return device.memory_limit_bytes();
  }
  return std::nullopt;
}

// Of the devices in use the one that may hold most. nullopt: as LimitOfTheFullest.
std::optional<int64_t> GreatestLimit(const v1::Plan& plan) {
  std::optional<int64_t> greatest;
  for (const v1::DeviceUsage& device : plan.devices()) {
    if (device.stages().empty()) continue;
    if (!device.has_memory_limit_bytes()) return std::nullopt;
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
  const int64_t peak = plan.estimate().peak_memory_bytes();
  if (peak == 0) return "";
  const std::optional<int64_t> limit = LimitOfTheFullest(plan);
  const std::string text = absl::StrCat(
      BytesText(peak), limit.has_value() ? absl::StrCat(" of ", BytesText(*limit)) : "", " on the fullest device");
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
