// A table of runs to begin with.
#ifndef PLANWRIGHT_CORE_JOINT_CALIBRATION_EXAMPLE_RUNS_H_
#define PLANWRIGHT_CORE_JOINT_CALIBRATION_EXAMPLE_RUNS_H_

#include <string_view>

namespace planwright {

// What ReadTrainingRuns reads: the eight step times of Korthikanti et al. 2022 (Reducing Activation Recomputation in
// Large Transformer Models), table 5, with the columns that most runs need.
std::string_view ExampleRuns();

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_CALIBRATION_EXAMPLE_RUNS_H_
