// What a planwrightd counts, read from its metrics.
#ifndef PLANWRIGHT_CLIENT_CLI_RESULTS_METRICS_PAGE_H_
#define PLANWRIGHT_CLIENT_CLI_RESULTS_METRICS_PAGE_H_

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/cli/results/load_report.h"

namespace planwright::client {

// The page at http://ADDRESS/metrics. UNAVAILABLE: there is none within `patience`, or it is larger than 16 MiB;
// CANCELLED: `stop` was requested.
absl::StatusOr<std::string> FetchMetrics(const std::string& address, std::chrono::milliseconds patience,
                                         const std::stop_token& stop);

// From a page in the text format of Prometheus; what it does not have is 0. UNAVAILABLE: it is not of a planwrightd.
absl::StatusOr<LoadCounters> ReadCounters(std::string_view page);

// Where a server serves its metrics unless it is told otherwise: port 9464 of the host of "HOST:PORT" or
// "dns:///HOST:PORT"; of a Unix socket, this host.
std::string UsualMetricsAddress(std::string_view server);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_RESULTS_METRICS_PAGE_H_
