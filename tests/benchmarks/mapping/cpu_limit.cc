#include "tests/benchmarks/mapping/cpu_limit.h"

#include <chrono>
#include <ctime>

namespace planwright::benchmarks {

double ProcessCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

CpuLimit::CpuLimit(double seconds)
    : start_(ProcessCpuSeconds()), watcher_([this, seconds](const std::stop_token& is_over) {
        while (!is_over.stop_requested() && seconds_used() < seconds) {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        stop_.request_stop();
      }) {}

SolveLimits CpuLimit::limits() const { return {.stop = stop_.get_token()}; }

}  // namespace planwright::benchmarks
