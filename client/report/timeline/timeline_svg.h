// A simulated step as a picture: a row for each device and link, along the time.
#ifndef PLANWRIGHT_CLIENT_REPORT_TIMELINE_TIMELINE_SVG_H_
#define PLANWRIGHT_CLIENT_REPORT_TIMELINE_TIMELINE_SVG_H_

#include <string>

#include "client/report/simulation_report.h"

namespace planwright::client {

// At most 64 rows, in the order of the summary, and 1,000 columns: of each what the resource does for most of it, with
// the micro-batch where there is room. SVG 1.1, no scripts. O(tasks + rows x columns).
std::string TimelineSvg(const Simulation& simulation, const std::string& title);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_TIMELINE_TIMELINE_SVG_H_
