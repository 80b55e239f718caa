// Measures `planwright plan` as its user sees it: a process that reads files and prints a plan.
#ifndef PLANWRIGHT_TESTS_BENCHMARKS_MEASUREMENT_H_
#define PLANWRIGHT_TESTS_BENCHMARKS_MEASUREMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace planwright::benchmarks {

// What the plan says of itself.
struct PlanFigures {
  double objective_ms = 0;
  double lower_bound_ms = 0;
  double relative_gap = 0;
  double solve_wall_ms = 0;
  double solve_cpu_ms = 0;
  // "OPTIMAL", "TIME_LIMIT", ...
  std::string stop_reason;
  // Where the algorithm counts them.
  std::optional<int64_t> ideals;
  std::optional<int64_t> passes;
};

// Reads a plan in JSON. INVALID_ARGUMENT: it is none.
absl::StatusOr<PlanFigures> ParsePlan(std::string_view json);

struct Measurement {
  PlanFigures plan;
  double process_wall_ms = 0;
  double process_cpu_ms = 0;
  int64_t peak_resident_bytes = 0;
};

// Runs `command`, which must print a plan in JSON, once. INTERNAL: it fails, with its exit code.
absl::StatusOr<Measurement> MeasureOnce(const std::vector<std::string>& command);

// Each time the median of `runs`; memory the largest; the rest that of the first. REQUIRES: there are runs.
Measurement Summarize(const std::vector<Measurement>& runs);

// The middle one of `values`, the mean of the two middle ones of an even number. REQUIRES: not empty.
double Median(std::vector<double> values);

}  // namespace planwright::benchmarks

#endif  // PLANWRIGHT_TESTS_BENCHMARKS_MEASUREMENT_H_
