// A plan of the joint search as trainers see it: runs of whole layers, one spread for all stages, one division of the
// batch.
#ifndef PLANWRIGHT_CLIENT_EXPORTER_JOINT_PIPELINE_H_
#define PLANWRIGHT_CLIENT_EXPORTER_JOINT_PIPELINE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/exporter/exporter.h"
#include "client/exporter/model_layers.h"

namespace planwright::client {

struct JointPipeline {
  // Runs of layers in the order of the model: run k lies in stage k mod num_stages. The front is in the first run, the
  // back in the last.
  std::vector<StageLayers> runs;
  // By run, then by its numbered layers.
  std::vector<std::vector<v1::LayerRecomputation>> recomputation;
  int32_t num_stages = 1;
  int32_t chunks_per_stage = 1;
  // The degrees of every stage.
  int32_t tensor = 1;
  int32_t context = 1;
  int32_t expert = 1;
  int32_t data = 1;
  // Samples of a micro-batch on one rank of the data degree.
  int64_t samples = 1;
  int64_t micro_batches = 1;
  // samples x data x micro_batches.
  int64_t global_batch = 1;
  v1::OptimizerSharding sharding = v1::OPTIMIZER_SHARDING_NONE;
  v1::ScheduleKind schedule = v1::SCHEDULE_KIND_ONE_F_ONE_B;

  int64_t processes() const { return int64_t{num_stages} * tensor * context * data; }
  // Whether some ranks hold the same parameters, so that sharding means anything.
  bool has_copies() const { return int64_t{context} * data > 1; }
};

// Errors: INVALID_ARGUMENT, the plan contradicts itself or the graph. FAILED_PRECONDITION, stages are spread in several
// ways, an embedding or head is computed again, or what LayersOfStages refuses. REQUIRES: plan.has_joint(), graph.
// Complexity O(operators + tensor ends).
absl::StatusOr<JointPipeline> JointPipelineOf(const ExportInput& input, std::string_view target);

// What the layers of a pipeline compute again, as trainers can say it.
struct RecomputedLayers {
  // SELECTIVE and FULL: of every layer, or FULL of the first `count` of every run (of all, where a run has fewer).
  v1::LayerRecomputation kind = v1::LAYER_RECOMPUTATION_NONE;
  // nullopt: every layer.
  std::optional<int64_t> count;
};

// nullopt: the layers differ in another way.
std::optional<RecomputedLayers> RecomputedLayersOf(const JointPipeline& pipeline);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_EXPORTER_JOINT_PIPELINE_H_
