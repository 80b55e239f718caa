// The device_map of Hugging Face's accelerate: which device holds which module of a model that one process serves.
#ifndef PLANWRIGHT_CLIENT_EXPORTER_ACCELERATE_H_
#define PLANWRIGHT_CLIENT_EXPORTER_ACCELERATE_H_

#include "absl/status/statusor.h"
#include "client/exporter/exporter.h"

namespace planwright::client {

// {"model.embed_tokens": 0, "model.layers.0": 0, ..., "model.norm": 1, "lm_head": 1}: the modules of Llama and its
// likes; accelerators of a host are numbered, a CPU is "cpu". Errors: see ExportTarget::write. Not expressible: plans
// for training, replicas, degrees of a joint plan, devices of several hosts, and layers that are not whole.
absl::StatusOr<Exported> ExportAccelerate(const ExportInput& input);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_EXPORTER_ACCELERATE_H_
