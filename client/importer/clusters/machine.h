// One machine and the links of its accelerators, and clusters of machines alike.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_MACHINE_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_MACHINE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/importer/clusters/cluster_options.h"
#include "client/importer/clusters/device_products.h"
#include "planwright/v1/cluster.pb.h"

namespace planwright::client {

struct ImportedCluster {
  v1::Cluster cluster;
  // What was assumed, for people.
  std::vector<std::string> warnings;
};

// What a matrix of the contract holds.
inline constexpr std::size_t kMaxMatrixDevices = 2048;
// Devices of a cluster, at most.
inline constexpr std::size_t kMaxDevices = 16'384;
// Latencies as in docs/cluster-yaml.md.
inline constexpr double kInsideLatencyMs = 0.005;
inline constexpr double kBetweenLatencyMs = 0.010;

struct Machine {
  std::size_t devices = 0;
  DeviceType type;
  // Bytes per second of every pair in one direction, row-major; the diagonal is not looked at.
  std::vector<double> bandwidth;
};

// `options.repeat` such machines, hosts "host0", "host1", ..., joined by `options.between`. One machine is `uniform`
// where all pairs are alike, else a `matrix`; several are a `hierarchy`, else `nodes`. The two directions of a pair are
// the slower one, where that differs.
// Errors: INVALID_ARGUMENT: no device, too many, a pair without bandwidth, several machines without --between.
absl::StatusOr<v1::Cluster> ClusterOfMachines(const Machine& machine, const ClusterOptions& options,
                                              std::string_view source);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_MACHINE_H_
