// The order of work for torch.distributed.pipelining.
#ifndef PLANWRIGHT_CLIENT_EXPORTER_SCHEDULE_CSV_H_
#define PLANWRIGHT_CLIENT_EXPORTER_SCHEDULE_CSV_H_

#include "absl/status/statusor.h"
#include "client/exporter/exporter.h"

namespace planwright::client {

// The CSV that _PipelineScheduleRuntime loads as "compute_only": a row for each rank, whose cells are slots of time:
// "0F0" is the forward pass of stage 0 for micro-batch 0, "0B0" its whole backward pass, an empty cell idleness. GPipe
// where the plan says so, else 1F1B; of plans of the joint search also its interleaved form, whose stages are numbered
// run by run, and ZB-H1, whose backward passes are "0I0" and "0W0". Passes take one slot each, in which no rank works
// before what it waits for. FAILED_PRECONDITION: the problem counts no micro-batches, more than 4,096 of them, several
// stages on one device, a schedule of another kind, inference.
absl::StatusOr<Exported> ExportScheduleCsv(const ExportInput& input);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_EXPORTER_SCHEDULE_CSV_H_
