// Runs a program and measures what the kernel says it took.
#ifndef PLANWRIGHT_TESTS_BENCHMARKS_CHILD_PROCESS_H_
#define PLANWRIGHT_TESTS_BENCHMARKS_CHILD_PROCESS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace planwright::benchmarks {

struct ProcessResult {
  // -1: ended by a signal.
  int exit_code = 0;
  std::string output;
  double wall_ms = 0;
  // User and system time, threads included, from exec to exit.
  double cpu_ms = 0;
  // Never less than the resident set of the caller, which the child shares until exec.
  int64_t peak_resident_bytes = 0;
};

// Runs `command` (a program, searched in PATH, and its arguments) to its end and returns its standard output. Standard
// input is empty and standard error is dropped. INTERNAL: it cannot be started. Blocks; not for several threads at a
// time, whose pipes the child would inherit.
absl::StatusOr<ProcessResult> RunProcess(const std::vector<std::string>& command);

}  // namespace planwright::benchmarks

#endif  // PLANWRIGHT_TESTS_BENCHMARKS_CHILD_PROCESS_H_
