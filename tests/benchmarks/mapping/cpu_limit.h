// Stops searches by the processor time of the process, which other load on the machine leaves alone.
#ifndef PLANWRIGHT_TESTS_BENCHMARKS_MAPPING_CPU_LIMIT_H_
#define PLANWRIGHT_TESTS_BENCHMARKS_MAPPING_CPU_LIMIT_H_

#include <stop_token>
#include <thread>

#include "core/base/limits.h"

namespace planwright::benchmarks {

// Of all threads of the process so far.
double ProcessCpuSeconds();

// Requests a stop once the process has used `seconds` more. One at a time.
class CpuLimit {
 public:
  explicit CpuLimit(double seconds);

  SolveLimits limits() const;
  double seconds_used() const { return ProcessCpuSeconds() - start_; }

 private:
  double start_;
  std::stop_source stop_;
  std::jthread watcher_;
};

}  // namespace planwright::benchmarks

#endif  // PLANWRIGHT_TESTS_BENCHMARKS_MAPPING_CPU_LIMIT_H_
