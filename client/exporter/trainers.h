// Plans as settings of training and serving frameworks. Errors of each: see ExportTarget::write.
#ifndef PLANWRIGHT_CLIENT_EXPORTER_TRAINERS_H_
#define PLANWRIGHT_CLIENT_EXPORTER_TRAINERS_H_

#include "absl/status/statusor.h"
#include "client/exporter/exporter.h"

namespace planwright::client {

// Megatron-LM's arguments: "--num-layers 61 --pipeline-model-parallel-size 4 --pipeline-model-parallel-layout
// 'Et*15|(t*15|)*3t*1L'". E is what comes before the numbered layers and sits in the first stage, L what comes after
// them and sits in the last; every stage has the same number of replicas. Runs of equal stages are folded.
absl::StatusOr<Exported> ExportMegatron(const ExportInput& input);

// torchtitan's pipeline_parallel_module_fqns_per_model_part, with the module names of its decoder models:
// "tok_embeddings", "layers.0", ..., "norm", "lm_head", as Python since September 2026; and as TOML for releases until
// February 2026, where it is module_fqns_per_model_part and the head "output".
absl::StatusOr<Exported> ExportTorchtitan(const ExportInput& input);
absl::StatusOr<Exported> ExportTorchtitanToml(const ExportInput& input);

// A subclass of DeepSpeed's PipelineModule, which has no public argument for boundaries (DeepSpeed issue 2974): it sets
// self.parts and the bounds of the rank.
absl::StatusOr<Exported> ExportDeepspeed(const ExportInput& input);

// split_spec of torch.distributed.pipelining: the layers before which the module is split.
absl::StatusOr<Exported> ExportTorchPipelining(const ExportInput& input);

// vLLM's VLLM_PP_LAYER_PARTITION: "9,11". The embedding is in the first stage and the head in the last.
absl::StatusOr<Exported> ExportVllm(const ExportInput& input);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_EXPORTER_TRAINERS_H_
