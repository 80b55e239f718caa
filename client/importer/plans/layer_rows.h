// The layers of a model as trainers count them: what stands before a row of numbered layers, the row, what follows it.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_PLANS_LAYER_ROWS_H_
#define PLANWRIGHT_CLIENT_IMPORTER_PLANS_LAYER_ROWS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planwright/v1/graph.pb.h"

namespace planwright::client {

// What a stage of a trainer holds.
struct StageOfLayers {
  // What stands before the numbered layers, and what follows them.
  bool has_front = false;
  bool has_back = false;
  // Numbers of the layers, from 0 on.
  std::vector<std::size_t> layers;
};

// The operators of each stage, in the order of the graph. Numbered layers are those whose label ends in a number
// ("layer.3"), by their numbers; operators before the first of them, inputs too, are the front, others the back.
// BACKWARD operators go with their forward operators.
// Errors: INVALID_ARGUMENT: the graph has no numbered layer or has them of several kinds, or the stages leave a layer,
// the front or the back out, or have it twice.
absl::StatusOr<std::vector<std::vector<std::string>>> OperatorsOfStages(const v1::Graph& graph,
                                                                        const std::vector<StageOfLayers>& stages);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_PLANS_LAYER_ROWS_H_
