// Slurm's host lists: "node[0-3,08-10],login" for node0, node1, node2, node3, node08, node09, node10, login.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_HOSTS_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_HOSTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace planwright::client {

// Leaves room for the name of a device behind it, within the 256 bytes of a name.
inline constexpr std::size_t kMaxHostNameBytes = 240;

// The names that `list` stands for, in its order. Items are separated by commas; each may have up to four brackets,
// whose ranges are combined with the last bracket fastest. A first number with leading zeros gives all of its range at
// least its width. Names have letters, digits, '.', '-' and '_'. Errors: INVALID_ARGUMENT with the reason alone ("has a
// \"[\" without its \"]\""); a name that comes twice and more than `max_hosts` names are reasons. Time and memory are
// linear in the length of the result. Source: the man page of Slurm's topology.conf.
absl::StatusOr<std::vector<std::string>> ExpandHostList(std::string_view list, std::size_t max_hosts);

// Likewise names of anything ("node[0-1]/gpu[0-7]"): other characters are as good, and so is a name twice.
absl::StatusOr<std::vector<std::string>> ExpandNames(std::string_view list, std::size_t max_names);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_HOSTS_H_
