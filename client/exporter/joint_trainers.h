// Plans of the joint search as settings of torchtitan, DeepSpeed and torch.distributed.pipelining.
#ifndef PLANWRIGHT_CLIENT_EXPORTER_JOINT_TRAINERS_H_
#define PLANWRIGHT_CLIENT_EXPORTER_JOINT_TRAINERS_H_

#include "absl/status/statusor.h"
#include "client/exporter/exporter.h"

namespace planwright::client {

// The sections parallelism, training and activation_checkpoint of torchtitan's configuration, as Python (names and
// rules of its sources of September 2026) and TOML (of its releases until February 2026). Its FSDP shards parameters in
// every micro-batch only without a pipeline; in one (torch.distributed.pipelining keeps gathered parameters and
// gradients until the last micro-batch) it is what the plan calls sharding of the optimizer. FAILED_PRECONDITION,
// besides JointPipelineOf: other shardings, recomputation that is neither of all layers nor of none, fewer
// micro-batches than stages, tied tables in a pipeline. Python: experts and several tensor ranks. TOML: more than three
// runs in a stage, expert ranks that context ranks do not divide, tensor ranks or stages without copies of their
// parameters (it computes in 32 bits then).
absl::StatusOr<Exported> ExportJointTorchtitan(const ExportInput& input);
absl::StatusOr<Exported> ExportJointTorchtitanToml(const ExportInput& input);

// A subclass of DeepSpeed's PipelineModule with its topology and the entries of its JSON configuration.
// FAILED_PRECONDITION, besides JointPipelineOf: context or expert degrees, interleaved stages, gradients or parameters
// sharded (its pipelines know ZeRO 1), recomputation that is neither of all layers nor of none.
absl::StatusOr<Exported> ExportJointDeepspeed(const ExportInput& input);

// The layers before which the module is split, and the degrees in a comment.
absl::StatusOr<Exported> ExportJointTorchPipelining(const ExportInput& input);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_EXPORTER_JOINT_TRAINERS_H_
