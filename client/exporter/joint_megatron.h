// Plans of the joint search as the argument line of Megatron-LM.
#ifndef PLANWRIGHT_CLIENT_EXPORTER_JOINT_MEGATRON_H_
#define PLANWRIGHT_CLIENT_EXPORTER_JOINT_MEGATRON_H_

#include "absl/status/statusor.h"
#include "client/exporter/exporter.h"

namespace planwright::client {

// Degrees, batch, sharding, recomputation and the shape of the model. Stages of as many layers are said by their number
// (--num-layers-per-virtual-pipeline-stage where they are interleaved), others by --pipeline-model-parallel-layout.
// FAILED_PRECONDITION, besides JointPipelineOf: recomputation that is neither of all layers nor of as many first layers
// of every run; gradients sharded in a pipeline of several stages, for which Megatron-FSDP is not documented; sharded
// parameters, of which it leaves out those of embedding and head; scores that are kept and context ranks; orders that
// Megatron-LM does not interleave. Names and rules are those of its sources of September 2026.
absl::StatusOr<Exported> ExportJointMegatron(const ExportInput& input);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_EXPORTER_JOINT_MEGATRON_H_
