// Fits what classes of devices reach when they train to runs that somebody measured.
//
// Every class has ten physical parameters (TrainingEfficiency), every source of runs one factor, by which all its runs
// are slower than predicted: clocks, power limits and software; a single source has none. The sum over the runs of
// Huber's loss of the logarithm of predicted over measured time is least, with as much again for what runs of one
// series differ by, and a little for factors far from 1 and for parameters far from where they began. Coordinate search
// with shrinking steps: deterministic; some thousands of predictions of every run.
#ifndef PLANWRIGHT_CORE_JOINT_CALIBRATION_EFFICIENCY_FIT_H_
#define PLANWRIGHT_CORE_JOINT_CALIBRATION_EFFICIENCY_FIT_H_

#include <map>
#include <string>
#include <vector>

#include "core/joint/calibration/run_prediction.h"
#include "core/joint/calibration/training_run.h"
#include "core/model/cluster.h"

namespace planwright {

struct EfficiencyFit {
  // By family of devices.
  std::map<std::string, TrainingEfficiency> classes;
  // By source: measured over predicted time of its runs.
  std::map<std::string, double> slowness;

  // 1 for a source that had no run in the fit.
  double SlownessOf(const std::string& source) const;
};

// What is in force for the families of `runs`, and the same without built-in classes.
EfficiencyFit EfficiencyInForce(const std::vector<TrainingRun>& runs);
EfficiencyFit DefaultEfficiency(const std::vector<TrainingRun>& runs);

// `start`: as EfficiencyInForce gives it, or another beginning. Runs without a measured time, or whose degrees do not
// divide them, take no part. Families with fewer than kLeastRuns of them get a new `products` alone.
EfficiencyFit FitEfficiency(const std::vector<TrainingRun>& runs, const EfficiencyFit& start);
inline constexpr int kLeastRuns = 8;

// Measured over predicted time of each source of `runs`, with classes as `fit` has them.
std::map<std::string, double> SlownessOfSources(const std::vector<TrainingRun>& runs, const EfficiencyFit& fit);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_CALIBRATION_EFFICIENCY_FIT_H_
