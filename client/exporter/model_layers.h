// The layers of a model as training frameworks see them: what comes first, a row of numbered layers, what comes last.
#ifndef PLANWRIGHT_CLIENT_EXPORTER_MODEL_LAYERS_H_
#define PLANWRIGHT_CLIENT_EXPORTER_MODEL_LAYERS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planwright/v1/graph.pb.h"
#include "planwright/v1/plan.pb.h"

namespace planwright::client {

// What one stage of a pipeline holds.
struct StageLayers {
  // Labels before the numbered layers ("embedding"), in model order.
  std::vector<std::string> front;
  // Number of consecutive numbered layers, and the first of them counted from 0.
  std::size_t first_layer = 0;
  std::size_t num_layers = 0;
  // Labels after them ("head", "loss"), in model order.
  std::vector<std::string> back;
};

// The stages of `plan` by the `layer` labels of the FORWARD operators of `graph` ("layer.0", "layer.1", ...): operators
// of type `Input` and BACKWARD operators follow the others and are not looked at.
//
// Errors: INVALID_ARGUMENT, the plan holds an operator that the graph does not have, or lacks one. FAILED_PRECONDITION,
// the plan is no row of whole layers: an operator without a label, a label in two stages, numbered layers of two kinds,
// layers out of order, several stages on one device. `target` names the format in messages.
// Complexity O(operators + tensor ends).
absl::StatusOr<std::vector<StageLayers>> LayersOfStages(const v1::Graph& graph, const v1::Plan& plan,
                                                        std::string_view target);

// FAILED_PRECONDITION: what comes before the numbered layers is not in the first stage, or nothing does (trainers run
// transformers, whose layers follow an embedding), or what comes after them is not in the last.
absl::Status CheckEnds(const std::vector<StageLayers>& stages, std::string_view target);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_EXPORTER_MODEL_LAYERS_H_
