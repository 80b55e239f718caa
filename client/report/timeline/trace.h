// A timeline for the viewers of Chrome (chrome://tracing) and Perfetto (ui.perfetto.dev).
//
// The JSON object form of the Trace Event Format: processes "devices" and "links" with a thread for each resource, one
// complete event (X) for each task, a flow (s, f) from each task to those on other resources that wait for it, and a
// counter (C) for the memory of each device. Times are microseconds with all digits of a picosecond.
#ifndef PLANWRIGHT_CLIENT_REPORT_TIMELINE_TRACE_H_
#define PLANWRIGHT_CLIENT_REPORT_TIMELINE_TRACE_H_

#include <string>

#include "client/report/simulation_report.h"

namespace planwright::client {

// Events of one thread never overlap: transfers that share a link are spread over as many threads as it takes.
std::string TraceText(const Simulation& simulation);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_TIMELINE_TRACE_H_
