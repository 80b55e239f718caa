// A plan as a picture: what fills the time of each device, and how far that is from the bound.
#ifndef PLANWRIGHT_CLIENT_EXPORTER_SVG_H_
#define PLANWRIGHT_CLIENT_EXPORTER_SVG_H_

#include "absl/status/statusor.h"
#include "client/exporter/exporter.h"

namespace planwright::client {

// One bar for each device in use (at most 64, the busiest): transfers in, computation, transfers out, all-reduce of its
// stages (plans of the joint search: of a whole step); lines at the objective and at the lower bound. Every plan can be
// drawn. SVG 1.1, no scripts.
absl::StatusOr<Exported> ExportSvg(const ExportInput& input);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_EXPORTER_SVG_H_
