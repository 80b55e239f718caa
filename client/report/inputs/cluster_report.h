// What a cluster is made of, for people.
#ifndef PLANWRIGHT_CLIENT_REPORT_INPUTS_CLUSTER_REPORT_H_
#define PLANWRIGHT_CLIENT_REPORT_INPUTS_CLUSTER_REPORT_H_

#include <string>

#include "planwright/v1/cluster.pb.h"

namespace planwright::client {

// Classes with their numbers of devices, and which pairs of devices are joined by what. Groups of devices count as the
// devices that they stand for. `title` heads it.
std::string ClusterReport(const std::string& title, const v1::Cluster& cluster);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_INPUTS_CLUSTER_REPORT_H_
