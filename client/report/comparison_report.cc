#include "client/report/comparison_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/library/error_details.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

constexpr Table::Align kRight = Table::Align::kRight;

std::optional<double> BestObjective(const std::vector<ComparisonRow>& rows) {
  std::optional<double> best;
  for (const ComparisonRow& row : rows) {
    if (row.plan.ok()) best = std::min(best.value_or(row.plan->objective_ms()), row.plan->objective_ms());
  }
  return best;
}

// The first thing that was wrong, without what every error says.
std::string ReasonOf(const absl::Status& status) {
  const ErrorDetails details = ErrorDetailsOf(status);
  if (details.violations.empty()) return std::string(status.message());
  const FieldViolation& first = details.violations.front();
  return absl::StrCat(first.field, ": ", first.description);
}

std::string Ratio(double objective_ms, double best_ms) {
  if (best_ms > 0) return absl::StrFormat("%.3fx", objective_ms / best_ms);
  return objective_ms > 0 ? "" : "1.000x";
}

std::string StopText(const v1::Plan& plan) {
  const std::string name = v1::StopReason_Name(plan.provenance().stop_reason());
  return name.substr(std::string("STOP_REASON_").size());
}

std::vector<std::string> Cells(const ComparisonRow& row, double best_ms) {
  if (!row.plan.ok()) {
    const bool is_refused = row.plan.status().code() == absl::StatusCode::kInvalidArgument;
    return {row.algorithm, "-", "", "", "", "", "", is_refused ? "not for this problem" : ReasonOf(row.plan.status())};
  }
  const v1::Plan& plan = *row.plan;
  const bool has_bound = plan.lower_bound_ms() > 0 || plan.objective_ms() == 0;
  return {row.algorithm,
          absl::StrFormat("%.3f", plan.objective_ms()),
          Ratio(plan.objective_ms(), best_ms),
          has_bound ? absl::StrFormat("%.3f", plan.lower_bound_ms()) : "",
          has_bound ? absl::StrFormat("%.2f %%", 100 * plan.relative_gap()) : "",
          absl::StrCat(plan.stages_size()),
          absl::StrFormat("%.1f", plan.provenance().cpu_time_ms()),
          StopText(plan)};
}

nlohmann::ordered_json JsonRow(const ComparisonRow& row) {
  nlohmann::ordered_json json;
  json["algorithm"] = row.algorithm;
  const bool is_planned = row.plan.ok();
  const auto put = [&](const char* key, auto value) {
    json[key] = is_planned ? nlohmann::ordered_json(value(*row.plan)) : nlohmann::ordered_json(nullptr);
  };
  put("made_by", [](const v1::Plan& plan) { return plan.provenance().algorithm(); });
  put("objective_ms", [](const v1::Plan& plan) { return plan.objective_ms(); });
  put("lower_bound_ms", [](const v1::Plan& plan) { return plan.lower_bound_ms(); });
  put("relative_gap", [](const v1::Plan& plan) { return plan.relative_gap(); });
  put("stages", [](const v1::Plan& plan) { return plan.stages_size(); });
  put("cpu_time_ms", [](const v1::Plan& plan) { return plan.provenance().cpu_time_ms(); });
  put("wall_time_ms", [](const v1::Plan& plan) { return plan.provenance().wall_time_ms(); });
  put("stop_reason", StopText);
  json["error"] = is_planned ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(ReasonOf(row.plan.status()));
  return json;
}

}  // namespace

std::string ComparisonReport(const std::vector<ComparisonRow>& rows, const std::string& title) {
  Table table({{"algorithm"},
               {"ms", kRight},
               {"to best", kRight},
               {"bound ms", kRight},
               {"gap", kRight},
               {"stages", kRight},
               {"CPU ms", kRight},
               {"stopped, or why there is no plan"}},
              Table::Overflow::kWrapped);
  const double best_ms = BestObjective(rows).value_or(0);
  for (const ComparisonRow& row : rows) table.AddRow(Cells(row, best_ms));
  return absl::StrCat(Printable(title), "\n", table.ToString());
}

std::string ComparisonJson(const std::vector<ComparisonRow>& rows, const std::string& title) {
  nlohmann::ordered_json json;
  json["title"] = title;
  json["rows"] = nlohmann::ordered_json::array();
  for (const ComparisonRow& row : rows) json["rows"].push_back(JsonRow(row));
  // Names come from strangers and may be cut in the middle of a character.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace planwright::client
