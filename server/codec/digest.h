// What graphs and clusters are called by their content.
//
// SHA-256 (FIPS 180-4) over a canonical encoding: lists whose order means nothing are sorted by name, every string and
// list is preceded by its length, numbers are 8 bytes, little-endian. Two requests that mean the same have the same
// digest whatever the order of their operators, tensors, costs, classes and devices; display names do not count.
// Complexity O(n log n).
#ifndef PLANWRIGHT_SERVER_CODEC_DIGEST_H_
#define PLANWRIGHT_SERVER_CODEC_DIGEST_H_

#include <string>
#include <vector>

#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "server/codec/canonical_hash.h"

namespace planwright::server {

// 64 hexadecimal digits. REQUIRES: ids in range.
std::string GraphDigest(const OperatorGraph& graph);

// As GraphDigest. The order of devices counts for the interconnects that speak of it (hierarchy, grid, matrix).
std::string ClusterDigest(const Cluster& cluster);

// The part of it that the device classes have.
void AddDeviceClasses(const Cluster& cluster, CanonicalHash& hash);

// The part of it that the levels of a hierarchy have.
void AddLevels(const std::vector<HierarchyInterconnect::Level>& levels, CanonicalHash& hash);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CODEC_DIGEST_H_
