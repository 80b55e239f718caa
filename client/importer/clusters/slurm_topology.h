// Slurm's topology.conf and topology.yaml: which hosts are below which switch, or in which block.
//
//   SwitchName=leaf0 Nodes=node[0-3]
//   SwitchName=spine Switches=leaf[0-1]
//
// Keys in any case, '#' comments, lines continued by '\'; host lists as Slurm writes them. Levels are called "1" for
// the switch of a host, "2" for the switch above it, and so on; blocks are level "1". Neither file says which
// accelerators the hosts have. Source: the man page topology.conf(5) and the documentation of topology.yaml; no real
// sample was at hand.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_SLURM_TOPOLOGY_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_SLURM_TOPOLOGY_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "client/importer/clusters/machine.h"

namespace planwright::client {

// Errors of both: INVALID_ARGUMENT with every violation and its line; those of ClusterOfHosts.
absl::StatusOr<ImportedCluster> ReadSlurmTopology(std::string_view text, std::string_view source,
                                                  const ClusterOptions& options);

// The topology that is cluster_default, else the first.
absl::StatusOr<ImportedCluster> ReadSlurmTopologyYaml(std::string_view text, std::string_view source,
                                                      const ClusterOptions& options);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_SLURM_TOPOLOGY_H_
