// A training run that somebody measured. Plain values.
#ifndef PLANWRIGHT_CORE_JOINT_CALIBRATION_TRAINING_RUN_H_
#define PLANWRIGHT_CORE_JOINT_CALIBRATION_TRAINING_RUN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "core/joint/cost/training_cluster.h"
#include "core/joint/cost/transformer_pricer.h"
#include "core/model/cluster.h"
#include "core/model/joint.h"
#include "core/model/transformer_shape.h"

namespace planwright {

struct TrainingRun {
  std::string id;
  // Who measured it, with which software: runs of one source share a speed factor.
  std::string source;
  // Runs with the same model on the same devices from one source compare layouts.
  std::string series;
  // Runs alike but for their size; held out together.
  std::string group;

  // Devices of one family share what is fitted; their class is called as in a cluster in YAML.
  std::string family;
  DeviceClass device;
  int32_t devices = 1;
  int32_t devices_per_node = 1;
  TrainingLink inside;
  TrainingLink between;

  TransformerShape shape;
  int64_t global_batch = 1;
  Degrees degrees;
  int32_t num_stages = 1;
  int32_t chunks = 1;
  Sharding sharding = Sharding::kNone;
  TransformerPricerOptions options;
  // What every device holds besides: context, communication buffers and gaps between tensors.
  int64_t reserved_bytes = int64_t{2} << 30;
  // Unset: not published; PredictRun assumes one.
  std::optional<int64_t> micro_batch;
  std::optional<LayerRecomputation> recomputation;

  // Unset: not measured, or it ran out of memory.
  std::optional<double> step_seconds;
  std::optional<int64_t> peak_memory_bytes;
  bool ran_out_of_memory = false;
  // Complete, in 16 bits and typical: what headline errors are about. Others weigh less in a fit.
  bool is_core = true;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_CALIBRATION_TRAINING_RUN_H_
