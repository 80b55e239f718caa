// A cluster in YAML whose classes carry what was fitted to them.
#ifndef PLANWRIGHT_CORE_JOINT_CALIBRATION_CALIBRATED_CLUSTER_H_
#define PLANWRIGHT_CORE_JOINT_CALIBRATION_CALIBRATED_CLUSTER_H_

#include <string>
#include <vector>

#include "core/joint/calibration/efficiency_fit.h"
#include "core/joint/calibration/training_run.h"

namespace planwright {

// Classes of every family of `fit`, how well they meet `runs` as comments, and one node of the devices that most runs
// have, to be changed to the cluster there is: what --cluster=FILE reads (docs/cluster-yaml.md). REQUIRES:
// !runs.empty().
std::string CalibratedClusterYaml(const std::vector<TrainingRun>& runs, const EfficiencyFit& fit);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_CALIBRATION_CALIBRATED_CLUSTER_H_
