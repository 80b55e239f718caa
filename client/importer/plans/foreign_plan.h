// Plans as trainers and other planners state them: which stage holds what, without devices.
//
//   Megatron-LM   its arguments, or the layout alone: "Et*2|(t*3|)*4t*2L"; without a layout as many layers for each
//                 stage, but for --decoder-first-pipeline-num-layers and --decoder-last-pipeline-num-layers
//   torchtitan    module_fqns_per_model_part, in Python, TOML or JSON: [["tok_embeddings", "layers.0"], ...]
//   vLLM          VLLM_PP_LAYER_PARTITION: "9,11"
//   PipeDream     gpus=N.txt: nodes with stage_id
//   Piper         {"stages": [{"nodes": [3, 7], "dataParallelDegree": 2, ...}]}
//
// Stages are put on the accelerators of the cluster in their order, each replica on one of its own; of Megatron's
// virtual stages, stage i sits on device i modulo --pipeline-model-parallel-size.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_PLANS_FOREIGN_PLAN_H_
#define PLANWRIGHT_CLIENT_IMPORTER_PLANS_FOREIGN_PLAN_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "planwright/v1/cluster.pb.h"
#include "planwright/v1/graph.pb.h"
#include "planwright/v1/plan.pb.h"

namespace planwright::client {

enum class ForeignPlan { kNone, kMegatron, kTorchtitan, kVllm, kPipeDream, kPiper };

// Recognises a plan by its content. kNone: a plan of ours, of device-placement, or none at all.
ForeignPlan RecognisePlan(std::string_view text);

// The plan, with a device for each replica; its warnings are what of the text does not count. Errors: INVALID_ARGUMENT:
// what is wrong with the text, or does not fit to the graph or the cluster. REQUIRES: RecognisePlan says which it is.
// What Piper's stages are spread over and compute again is read where `problem` has replicas take turns (joint, with
// replication PER_STAGE); else its stages are replicated whole.
absl::StatusOr<v1::Plan> ReadForeignPlan(std::string_view text, std::string_view source, const v1::Graph& graph,
                                         const v1::Cluster& cluster, const v1::PlanningProblem& problem = {});

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_PLANS_FOREIGN_PLAN_H_
