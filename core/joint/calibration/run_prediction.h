// What the cost model says of a run that somebody measured (docs/training-costs.md, section 7).
#ifndef PLANWRIGHT_CORE_JOINT_CALIBRATION_RUN_PREDICTION_H_
#define PLANWRIGHT_CORE_JOINT_CALIBRATION_RUN_PREDICTION_H_

#include <cstdint>

#include "core/joint/calibration/training_run.h"
#include "core/model/cluster.h"
#include "core/model/joint.h"

namespace planwright {

// What a run does, with what its record leaves open.
struct RunSetting {
  int64_t micro_batch = 1;
  LayerRecomputation recomputation = LayerRecomputation::kNone;
};

struct RunPrediction {
  // The closed form.
  double step_seconds = 0;
  // What the stage that holds most holds, with what the framework reserves.
  int64_t memory_bytes = 0;
  bool fits = false;
};

// nullopt: the run's degrees do not divide its model or its batch.
std::optional<RunPrediction> PredictRun(const TrainingRun& run, const TrainingEfficiency& efficiency,
                                        const RunSetting& setting);

// The run's own setting; where it says nothing, of micro-batches of 1, 2, 4, ... samples and of all modes the fastest
// that fits (the smallest where none does). Selective recomputation without stored scores counts as nothing said.
RunSetting AssumedSetting(const TrainingRun& run, const TrainingEfficiency& efficiency);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_CALIBRATION_RUN_PREDICTION_H_
