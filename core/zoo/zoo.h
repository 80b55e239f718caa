// Built-in models and clusters, made by formula, and their names.
//
// A name may set parameters: "gpt-1.3b?sequence=1024&micro_batch=4", "dgx-h100:4?between_gb=100".
//
// Models carry FLOPs and bytes, not times: the roofline function of core/cost gives the times on the classes of any
// cluster that says its peak FLOP/s and memory bandwidth.
#ifndef PLANWRIGHT_CORE_ZOO_ZOO_H_
#define PLANWRIGHT_CORE_ZOO_ZOO_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/transformer_shape.h"

namespace planwright {

struct ZooEntry {
  // What follows "zoo:"; "N" in a cluster's name stands for a number of nodes or devices.
  std::string name;
  // Ends with the keys and their defaults.
  std::string description;
};

std::span<const ZooEntry> ZooModels();
std::span<const ZooEntry> ZooClusters();

// The model called `name`, e.g. "bert-large", without the prefix "zoo:".
// Errors: NOT_FOUND, with the names there are and the closest one; INVALID_ARGUMENT for a name of more than 1,024
// bytes, an unknown key (with the keys there are and the closest one), a key that comes twice or a value outside its
// domain. The domains keep every graph below 1,000,000 operators, so nothing large is built in vain.
absl::StatusOr<OperatorGraph> MakeZooModel(std::string_view name);

// The shape of the decoder-only language model called `name`, with its keys: what the joint search prices. nullopt: a
// model of another kind, or a name that MakeZooModel refuses.
std::optional<TransformerShape> TransformerShapeOf(std::string_view name);

// The cluster called `name`, e.g. "dgx1-v100:2".
// Errors: as above; INVALID_ARGUMENT also when the number is missing, < 1 or makes more than 16,384 devices.
absl::StatusOr<Cluster> MakeZooCluster(std::string_view name);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_ZOO_H_
