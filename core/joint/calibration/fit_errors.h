// How well predictions meet measured runs.
#ifndef PLANWRIGHT_CORE_JOINT_CALIBRATION_FIT_ERRORS_H_
#define PLANWRIGHT_CORE_JOINT_CALIBRATION_FIT_ERRORS_H_

#include <optional>
#include <vector>

#include "core/joint/calibration/efficiency_fit.h"
#include "core/joint/calibration/run_prediction.h"
#include "core/joint/calibration/training_run.h"

namespace planwright {

// A run and what is said of it.
struct JudgedRun {
  const TrainingRun* run = nullptr;
  RunSetting setting;
  // nullopt: its degrees do not divide it.
  std::optional<RunPrediction> prediction;
  // With the source's factor.
  double step_seconds = 0;

  // Predicted over measured, less one.
  std::optional<double> StepError() const;
  std::optional<double> MemoryError() const;
};

// In the order of `runs`, which outlive the answer.
std::vector<JudgedRun> JudgeRuns(const std::vector<TrainingRun>& runs, const EfficiencyFit& fit);

// Every run judged by a fit to the runs of other groups; `folds` fits, each of which leaves out every folds-th group.
std::vector<JudgedRun> JudgeHeldOut(const std::vector<TrainingRun>& runs, const EfficiencyFit& start, int folds);

// Shares and errors are fractions; of no runs, 0.
struct ErrorSummary {
  int runs = 0;
  double median = 0;
  double within_20_percent = 0;
};
ErrorSummary Summarise(std::vector<double> errors);

// Pairs of runs of one series with different layouts whose measured times per sample differ by 5 % or more.
struct PairSummary {
  int pairs = 0;
  int ranked_right = 0;
};
PairSummary ComparePairs(const std::vector<JudgedRun>& judged);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_CALIBRATION_FIT_ERRORS_H_
