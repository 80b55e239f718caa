// What a class of devices reaches when it trains.
#ifndef PLANWRIGHT_CORE_JOINT_COST_TRAINING_EFFICIENCY_H_
#define PLANWRIGHT_CORE_JOINT_COST_TRAINING_EFFICIENCY_H_

#include <optional>
#include <string_view>

#include "core/model/cluster.h"

namespace planwright {

// What was fitted to published runs (docs/results/published-runs.md) for the family that `class_name` starts with, such
// as "h100" of "h100-sxm5-80gb"; nullopt: none was.
std::optional<TrainingEfficiency> BuiltInEfficiency(std::string_view class_name);

// The class's own, else the built-in one of its name, else the defaults.
TrainingEfficiency TrainingEfficiencyOf(const DeviceClass& device_class);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_TRAINING_EFFICIENCY_H_
