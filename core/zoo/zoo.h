// Built-in models and clusters, made by formula.
//
// Models carry FLOPs and bytes, not times: the roofline function of core/cost gives the times on the classes of any
// cluster that says its peak FLOP/s and memory bandwidth.
#ifndef PLANWRIGHT_CORE_ZOO_ZOO_H_
#define PLANWRIGHT_CORE_ZOO_ZOO_H_

#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"

namespace planwright {

struct ZooEntry {
  // What follows "zoo:"; "N" in a cluster's name stands for a number of nodes or devices.
  std::string_view name;
  std::string_view description;
};

std::span<const ZooEntry> ZooModels();
std::span<const ZooEntry> ZooClusters();

// The model called `name`, e.g. "bert-large", without the prefix "zoo:".
// Errors: NOT_FOUND, with the names there are and the closest one.
absl::StatusOr<OperatorGraph> MakeZooModel(std::string_view name);

// The cluster called `name`, e.g. "dgx1-v100:2".
// Errors: NOT_FOUND as above; INVALID_ARGUMENT when the number is missing, < 1 or makes more than 16,384 devices.
absl::StatusOr<Cluster> MakeZooCluster(std::string_view name);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_ZOO_H_
