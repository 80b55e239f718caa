// The graph that NVIDIA's topograph writes as JSON: {"instances": [{"id": "n1", "network_layers": ["leaf1",
// "spine1"]}]}, the closest switch first. Levels are called "1", "2", ... from there. It says neither which
// accelerators there are nor how many. No real sample was at hand.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_TOPOGRAPH_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_TOPOGRAPH_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "client/importer/clusters/machine.h"

namespace planwright::client {

// Errors: INVALID_ARGUMENT with every violation and its path; those of ClusterOfHosts. REQUIRES: OutlineOf(text) is OK.
absl::StatusOr<ImportedCluster> ReadTopograph(std::string_view text, std::string_view source,
                                              const ClusterOptions& options);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_TOPOGRAPH_H_
