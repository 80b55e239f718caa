// Training runs from a table (docs/training-costs.md, section 7, lists its columns).
#ifndef PLANWRIGHT_CORE_JOINT_CALIBRATION_READ_RUNS_H_
#define PLANWRIGHT_CORE_JOINT_CALIBRATION_READ_RUNS_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/joint/calibration/training_run.h"

namespace planwright {

// The runs of `text`, comma-separated values.
// Errors: INVALID_ARGUMENT with every violation: a column that must be there is not, a field is no number or outside
// its domain, an accelerator that is not known, degrees that do not make up the devices.
absl::StatusOr<std::vector<TrainingRun>> ReadTrainingRuns(std::string_view text);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_CALIBRATION_READ_RUNS_H_
