// A host file of Open MPI and DeepSpeed: "node0 slots=8" for each host, in the order of the ranks.
//
// Ranks count stages from the first to the last, and within a stage its replicas: the order of Megatron-LM with data
// parallelism inside pipeline parallelism. Where the devices of a host are not used in their own order, a comment says
// which CUDA_VISIBLE_DEVICES to set there.
#ifndef PLANWRIGHT_CLIENT_EXPORTER_HOSTFILE_H_
#define PLANWRIGHT_CLIENT_EXPORTER_HOSTFILE_H_

#include "absl/status/statusor.h"
#include "client/exporter/exporter.h"

namespace planwright::client {

// Errors: see ExportTarget::write. Not expressible: a device without a host or with a host name that a host file cannot
// hold, a device with several stages, and ranks of one host that are not consecutive.
absl::StatusOr<Exported> ExportHostfile(const ExportInput& input);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_EXPORTER_HOSTFILE_H_
