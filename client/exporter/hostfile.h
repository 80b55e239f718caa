// Which rank runs where: host and rank files of Open MPI and DeepSpeed, task files of Slurm, affinities of Kubernetes.
//
// Ranks count stages from the first to the last, and within a stage its replicas: the order of Megatron-LM with data
// parallelism inside pipeline parallelism. Replicas of the joint search are in the order of their grid, tensor fastest,
// then context, then data: Megatron-LM's own (tp-cp-ep-dp-pp). Where the devices of a host are not used in their own
// order, a comment says which CUDA_VISIBLE_DEVICES to set there.
#ifndef PLANWRIGHT_CLIENT_EXPORTER_HOSTFILE_H_
#define PLANWRIGHT_CLIENT_EXPORTER_HOSTFILE_H_

#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "client/exporter/exporter.h"

namespace planwright::client {

// Where a device sits: its host, and its number among the accelerators of that host.
struct Seat {
  std::string host;
  int slot = 0;
  bool is_cpu = false;
};

// By device name. Groups are expanded as the service does: device i of a group sits in hosts[i x hosts / count].
std::unordered_map<std::string, Seat> SeatsOf(const v1::Cluster& cluster);

// Errors: see ExportTarget::write. Not expressible: a device without a host or with a host name that a host file cannot
// hold, a device with several stages, and ranks of one host that are not consecutive.
absl::StatusOr<Exported> ExportHostfile(const ExportInput& input);

// Open MPI's rank file: "rank 3=node1 slot=0", a line for each rank, in any order of hosts. Not expressible, here and
// below: as above, but ranks of one host need not be consecutive.
absl::StatusOr<Exported> ExportRankfile(const ExportInput& input);

// $SLURM_HOSTFILE: the host of each task, one on a line.
absl::StatusOr<Exported> ExportSlurmHostfile(const ExportInput& input);

// A strategic patch for a pod template of Kubernetes: nodes by their host names; the order of the ranks in comments.
absl::StatusOr<Exported> ExportKubernetes(const ExportInput& input);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_EXPORTER_HOSTFILE_H_
