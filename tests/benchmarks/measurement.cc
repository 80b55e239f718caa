#include "tests/benchmarks/measurement.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/benchmarks/child_process.h"

namespace planwright::benchmarks {
namespace {

// A count of the search; 64-bit integers are strings in JSON.
std::optional<int64_t> Counter(const nlohmann::json& provenance, const char* name) {
  const nlohmann::json counters = provenance.value("counters", nlohmann::json::object());
  int64_t count = 0;
  if (!absl::SimpleAtoi(counters.value(name, ""), &count)) return std::nullopt;
  return count;
}

std::string WithoutPrefix(const std::string& text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

double MedianOf(const std::vector<Measurement>& runs, double (*time)(const Measurement&)) {
  std::vector<double> times;
  times.reserve(runs.size());
  for (const Measurement& run : runs) times.push_back(time(run));
  return Median(std::move(times));
}

}  // namespace

absl::StatusOr<PlanFigures> ParsePlan(std::string_view json) {
  const nlohmann::json plan = nlohmann::json::parse(json, nullptr, false);
  if (!plan.is_object() || !plan.contains("objective_ms") || !plan.contains("provenance")) {
    return absl::InvalidArgumentError("the output is not a plan in JSON");
  }
  const nlohmann::json& provenance = plan["provenance"];
  return PlanFigures{.objective_ms = plan["objective_ms"],
                     .lower_bound_ms = plan["lower_bound_ms"],
                     .relative_gap = plan["relative_gap"],
                     .solve_wall_ms = provenance["wall_time_ms"],
                     .solve_cpu_ms = provenance["cpu_time_ms"],
                     .stop_reason = WithoutPrefix(provenance["stop_reason"], "STOP_REASON_"),
                     .ideals = Counter(provenance, "ideals"),
                     .passes = Counter(provenance, "passes")};
}

absl::StatusOr<Measurement> MeasureOnce(const std::vector<std::string>& command) {
  const absl::StatusOr<ProcessResult> process = RunProcess(command);
  if (!process.ok()) return process.status();
  if (process->exit_code != 0) {
    return absl::InternalError(absl::StrCat("exit ", process->exit_code, " of ", absl::StrJoin(command, " ")));
  }
  const absl::StatusOr<PlanFigures> plan = ParsePlan(process->output);
  if (!plan.ok()) return plan.status();
  return Measurement{.plan = *plan,
                     .process_wall_ms = process->wall_ms,
                     .process_cpu_ms = process->cpu_ms,
                     .peak_resident_bytes = process->peak_resident_bytes};
}

Measurement Summarize(const std::vector<Measurement>& runs) {
  Measurement summary = runs.front();
  summary.plan.solve_wall_ms = MedianOf(runs, [](const Measurement& run) { return run.plan.solve_wall_ms; });
  summary.plan.solve_cpu_ms = MedianOf(runs, [](const Measurement& run) { return run.plan.solve_cpu_ms; });
  summary.process_wall_ms = MedianOf(runs, [](const Measurement& run) { return run.process_wall_ms; });
  summary.process_cpu_ms = MedianOf(runs, [](const Measurement& run) { return run.process_cpu_ms; });
  summary.peak_resident_bytes = std::ranges::max(runs, {}, &Measurement::peak_resident_bytes).peak_resident_bytes;
  return summary;
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace planwright::benchmarks
