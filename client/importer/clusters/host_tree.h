// Hosts below switches, racks and zones: what topologies of Slurm, topograph and labels of Kubernetes say.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_HOST_TREE_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_HOST_TREE_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/importer/clusters/cluster_options.h"
#include "client/importer/clusters/machine.h"

namespace planwright::client {

struct TreeHost {
  std::string name;
  std::size_t devices = 0;
  // A class of docs/cluster-yaml.md, or a product of that class; empty: not known.
  std::string product;
  // Memory of one device; 0: that of the class.
  int64_t memory_bytes = 0;
  // The groups that the host is in, innermost first, one for each of the levels; empty text: in none, so that it stands
  // alone there.
  std::vector<std::string> groups;
  std::map<std::string, std::string> labels;
};

struct HostTree {
  // What --level calls them, innermost first.
  std::vector<std::string> levels;
  std::vector<TreeHost> hosts;
};

// The cluster of the hosts, sorted by their groups. Levels that the options give no bandwidth are left out with a
// warning; hosts that nothing joins are by `options.between`. Inside a host a pair has `options.links["inside"]`, else
// what the class has (NVLink, else PCIe), which is a warning. `hierarchy` where hosts and groups are alike, else a
// `matrix` of at most kMaxMatrixDevices.
// Errors: INVALID_ARGUMENT: no host, unknown classes or counts, levels that there are not, hosts that nothing joins, an
// irregular tree that is too large, with the host that breaks the pattern.
absl::StatusOr<ImportedCluster> ClusterOfHosts(HostTree tree, const ClusterOptions& options, std::string_view source);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_HOST_TREE_H_
