// A plan as a picture for Graphviz: operators in a box for each stage, tensors as arrows.
#ifndef PLANWRIGHT_CLIENT_EXPORTER_DOT_H_
#define PLANWRIGHT_CLIENT_EXPORTER_DOT_H_

#include "absl/status/statusor.h"
#include "client/exporter/exporter.h"

namespace planwright::client {

// Draws at most 500 nodes, because layouts of more take minutes: operators, else their layers, else stages.
// Errors: see ExportTarget::write; every plan can be expressed. Complexity O(operators + tensor ends, log).
absl::StatusOr<Exported> ExportDot(const ExportInput& input);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_EXPORTER_DOT_H_
