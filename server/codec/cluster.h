// Cluster of the wire <-> Cluster of core.
#ifndef PLANWRIGHT_SERVER_CODEC_CLUSTER_H_
#define PLANWRIGHT_SERVER_CODEC_CLUSTER_H_

#include <cstdint>

#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "planwright/v1/cluster.pb.h"

namespace planwright::server {

// Device groups are expanded, after the devices that are listed one by one.
// Violations (paths below "cluster"): times that are not finite or too long, unknown enum numbers, names that resolve
// to no class or device, an unset interconnect, groups whose count is < 1, no multiple of their hosts, makes names that
// are taken, or passes `max_devices` together with the others. Complexity O(classes + devices + interconnect).
Cluster DecodeCluster(const v1::Cluster& wire, int64_t max_devices, Violations& violations);

// The inverse, every device listed by itself. REQUIRES: ids in range.
v1::Cluster EncodeCluster(const Cluster& cluster);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CODEC_CLUSTER_H_
