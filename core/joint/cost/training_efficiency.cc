#include "core/joint/cost/training_efficiency.h"

#include <array>
#include <chrono>
#include <utility>

namespace planwright {
namespace {

using Microseconds = std::chrono::duration<double, std::micro>;

constexpr Picoseconds Launch(double microseconds) {
  return std::chrono::duration_cast<Picoseconds>(Microseconds(microseconds));
}

// Neither V100 nor A100 multiplies in 8 bits.
constexpr TrainingEfficiency kA100 = {.products = 0.876,
                                      .half_extent = 189,
                                      .attention = 0.294,
                                      .eight_bit_gain = 1,
                                      .memory = 0.92,
                                      .network = 0.56,
                                      .hidden_in_layers = 0.17,
                                      .hidden_among_data = 0.88,
                                      .hidden_at_step_end = 0.2,
                                      .launch = Launch(12.2)};
constexpr TrainingEfficiency kH100 = {.products = 0.846,
                                      .half_extent = 572,
                                      .attention = 0.232,
                                      .eight_bit_gain = 1.85,
                                      .memory = 0.65,
                                      .network = 0.93,
                                      .hidden_in_layers = 0.43,
                                      .hidden_among_data = 0.57,
                                      .hidden_at_step_end = 0.82,
                                      .launch = Launch(2.54)};
// There are too few runs on these for more than one number.
constexpr TrainingEfficiency kV100 = {.products = 0.884, .eight_bit_gain = 1};
constexpr TrainingEfficiency kB200 = {.products = 0.626};

// Fitted by `planwright calibrate` to published runs; docs/results/published-runs.md says how well.
constexpr auto kFitted = std::to_array<std::pair<std::string_view, TrainingEfficiency>>({{"v100", kV100},
                                                                                         {"a100", kA100},
                                                                                         {"a800", kA100},
                                                                                         {"h100", kH100},
                                                                                         {"h800", kH100},
                                                                                         {"h200", kH100},
                                                                                         {"b200", kB200},
                                                                                         {"b300", kB200},
                                                                                         {"gb200", kB200},
                                                                                         {"gb300", kB200}});

}  // namespace

std::optional<TrainingEfficiency> BuiltInEfficiency(std::string_view class_name) {
  const std::string_view family = class_name.substr(0, class_name.find('-'));
  for (const auto& [name, efficiency] : kFitted) {
    if (name == family) return efficiency;
  }
  return std::nullopt;
}

TrainingEfficiency TrainingEfficiencyOf(const DeviceClass& device_class) {
  if (device_class.training.has_value()) return *device_class.training;
  return BuiltInEfficiency(device_class.name).value_or(TrainingEfficiency{});
}

}  // namespace planwright
