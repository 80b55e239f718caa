// Plans in the forms of other planners: PipeDream's graph with stages, Piper's plan.
#ifndef PLANWRIGHT_CLIENT_EXPORTER_PLANNERS_H_
#define PLANWRIGHT_CLIENT_EXPORTER_PLANNERS_H_

#include "absl/status/statusor.h"
#include "client/exporter/exporter.h"

namespace planwright::client {

// PipeDream's gpus=N.txt: its profile (client/importer/graphs/pipedream.h) with " -- stage_id=K" behind each node.
// Nodes keep their names where all are PipeDream's, else they are numbered from 1 on. Times are the first that an
// operator has. FAILED_PRECONDITION: BACKWARD operators, and FORWARD ones without times. Replicas are for the advice:
// the form has no word for them.
absl::StatusOr<Exported> ExportPipedream(const ExportInput& input);

// The plan that Piper writes: stages with the ids of their nodes and degrees of parallelism.
// FAILED_PRECONDITION: operators whose names are no ids.
absl::StatusOr<Exported> ExportPiper(const ExportInput& input);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_EXPORTER_PLANNERS_H_
