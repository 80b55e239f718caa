// A cluster written by hand, in YAML: "4 nodes of 8 H100, NVLink inside, 400 Gb/s between" in ten lines.
//
//   nodes:
//     - hosts: node[0-3]
//       devices: 8
//       class: h100
//   inside: nvlink
//   between: 400 Gb/s
//
// docs/cluster-yaml.md says what each key means. Devices are called "{host}/gpu{i}" ("{host}/cpu{i}" for CPUs) and
// stand host by host. One host gives the interconnect `uniform`, or `host_staged` with through_host; several hosts give
// a `hierarchy` of two levels, or `uniform` where each has one device.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_H_

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "planwright/v1/cluster.pb.h"

namespace planwright::client {

// A server's limits may be lower; these keep a few bytes of YAML from becoming very many devices.
inline constexpr std::size_t kMaxYamlDevices = 16'384;
inline constexpr std::size_t kMaxYamlNodeEntries = 1024;
inline constexpr std::size_t kMaxYamlClasses = 64;
inline constexpr std::size_t kMaxYamlLabels = 16;
// Limits names of classes, names and values of labels, and the cluster's name.
inline constexpr std::size_t kMaxYamlNameBytes = 256;

// Whether `text` is meant as YAML about a cluster: it begins like YAML, and not with a field of a Cluster or of a
// request, which is how text proto begins.
bool LooksLikeClusterYaml(std::string_view text);

// Whether the first key is one of a cluster in YAML: then `text` is no graph.
bool BeginsWithClusterYamlKey(std::string_view text);

// Errors: INVALID_ARGUMENT that begins with `source`; with every violation, its path and line, where the text is YAML:
// `nodes[1].devices: must be a whole number >= 1, is "eight" (line 7)`.
absl::StatusOr<v1::Cluster> ReadClusterYaml(std::string_view text, std::string_view source);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_H_
