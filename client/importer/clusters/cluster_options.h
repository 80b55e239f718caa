// What people say beside a file that describes a cluster, because its format does not.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_CLUSTER_OPTIONS_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_CLUSTER_OPTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace planwright::client {

// Bandwidths are bytes per second of one pair of devices in one direction.
struct ClusterOptions {
  // A class of docs/cluster-yaml.md; empty: as the file says.
  std::string device_class;
  // Accelerators of a host; unset: as the file says.
  std::optional<int64_t> devices_per_host;
  // What `nvidia-smi --query-gpu=name,memory.total --format=csv` printed; empty: nothing.
  std::string gpu_query;
  // By class of links, in place of the tables: "NV12", "PIX", "SYS"; "inside" for all pairs of a host.
  std::map<std::string, double, std::less<>> links;
  // What groups hosts, innermost first: a label, or the number of a level of switches from 1 on, and its bandwidth.
  std::vector<std::pair<std::string, double>> levels;
  // Machines alike: a file that describes one of them stands for so many.
  int64_t repeat = 1;
  // Between hosts that no level joins.
  std::optional<double> between;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_CLUSTER_OPTIONS_H_
