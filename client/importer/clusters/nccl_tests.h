// What nccl-tests print (all_reduce_perf, sendrecv_perf and their like): the ranks, each with its host and device, and
// measured bandwidths by size.
//
// The bandwidth of a pair is the greatest bus bandwidth out of place, which NCCL makes comparable with that of links.
// On one host it is that between all pairs; on several it is that between hosts, and inside them holds what the class
// has or --link=inside=BANDWIDTH. No real sample was at hand; tests have what the project documents.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_NCCL_TESTS_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_NCCL_TESTS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "client/importer/clusters/machine.h"

namespace planwright::client {

// Errors: INVALID_ARGUMENT: no ranks, no measurement, measurements that are wrong; those of ClusterOfHosts.
absl::StatusOr<ImportedCluster> ReadNcclTests(std::string_view text, std::string_view source,
                                              const ClusterOptions& asked);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_NCCL_TESTS_H_
