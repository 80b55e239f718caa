// Plans as settings of training and serving frameworks. Errors of each: see ExportTarget::write.
#ifndef PLANWRIGHT_CLIENT_EXPORTER_TRAINERS_H_
#define PLANWRIGHT_CLIENT_EXPORTER_TRAINERS_H_

#include "absl/status/statusor.h"
#include "client/exporter/exporter.h"

namespace planwright::client {

// Megatron-LM's --pipeline-model-parallel-layout: "Et*15|t*15|t*15|t*16L". E is what comes before the numbered layers
// and sits in the first stage, L what comes after them and sits in the last; every stage has the same number of
// replicas.
absl::StatusOr<Exported> ExportMegatron(const ExportInput& input);

// torchtitan's parallelism.module_fqns_per_model_part as TOML, with the module names of its decoder models:
// "tok_embeddings", "layers.0", ..., "norm", "output".
absl::StatusOr<Exported> ExportTorchtitan(const ExportInput& input);

// vLLM's VLLM_PP_LAYER_PARTITION: "9,11". The embedding is in the first stage and the head in the last.
absl::StatusOr<Exported> ExportVllm(const ExportInput& input);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_EXPORTER_TRAINERS_H_
