// What the joint search would have done in place of whoever measured a training run.
#ifndef PLANWRIGHT_TESTS_SUPPORT_PLANNED_RUNS_H_
#define PLANWRIGHT_TESTS_SUPPORT_PLANNED_RUNS_H_

#include <optional>

#include "core/joint/calibration/training_run.h"
#include "core/model/cluster.h"
#include "core/model/joint.h"

namespace planwright {

// The plan for the run's model, devices and batch, of whose choices nothing is said, by the costs of PredictRun.
std::optional<JointPlan> PlanInPlaceOf(const TrainingRun& run, const TrainingEfficiency& efficiency);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_PLANNED_RUNS_H_
