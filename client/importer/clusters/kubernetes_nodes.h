// What `kubectl get nodes -o json` prints: hosts, their accelerators, and labels that group them. Several lists may
// follow each other, as several calls write them.
//
// Accelerators are those of .status.allocatable, else .status.capacity, of nvidia.com/gpu or amd.com/gpu; their kind is
// the label nvidia.com/gpu.product, their memory nvidia.com/gpu.memory (MiB). Nodes without are left out with a
// warning, as are nodes that are not schedulable. Every label that two hosts have is a level that --level may name.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_KUBERNETES_NODES_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_KUBERNETES_NODES_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "client/importer/clusters/machine.h"

namespace planwright::client {

// Errors: INVALID_ARGUMENT with every violation and its path; text that is not JSON; those of ClusterOfHosts.
absl::StatusOr<ImportedCluster> ReadKubernetesNodes(std::string_view text, std::string_view source,
                                                    const ClusterOptions& options);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_KUBERNETES_NODES_H_
