// Measured times of a transformer's layers, for the joint search: a table whose first line names the columns, in any
// order, as profilers of Megatron and Alpa can write it.
//
//   layer,tensor_degree,micro_batch,forward_ms,backward_ms
//   layer,4,1,3.25,6.75
//   head,4,1,1.5,3.125
//
// Required: `layer` ("embedding", "layer" for all, "layer.3" for one, "head"), `micro_batch` (samples on one rank),
// forward_ms and backward_ms (or _us and so on). Others: tensor_degree, context_degree, expert_degree, device_class,
// activation_bytes; a cell of theirs may be empty. Cells and comments as in profile.h.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_LAYER_TIMES_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_LAYER_TIMES_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planwright/v1/graph.pb.h"

namespace planwright::client {

// Whether layers exist and cases repeat is for the service to say. Errors: INVALID_ARGUMENT with every violation and
// its line.
absl::StatusOr<std::vector<v1::MeasuredLayer>> ReadLayerTimes(std::string_view text, std::string_view source);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_LAYER_TIMES_H_
