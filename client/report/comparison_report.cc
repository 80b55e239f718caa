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
#include "client/report/enum_text.h"
#include "client/report/joint_report.h"
#include "client/report/quantities.h"
#include "client/report/svg_text.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

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

// What stands where a plan would. REQUIRES: there is none.
std::string ReasonText(const ComparisonRow& row) {
  const bool is_refused = row.plan.status().code() == absl::StatusCode::kInvalidArgument;
  return is_refused ? "not for this problem" : ReasonOf(row.plan.status());
}

// Simple ways prove nothing.
bool HasBound(const v1::Plan& plan) { return plan.lower_bound_ms() > 0 || plan.objective_ms() == 0; }

// A baseline of the joint search says what it reaches, not how.
bool IsFigure(const v1::Plan& plan) { return plan.stages().empty(); }

// Why the problem does not allow it; empty: it does.
std::string RemarkOf(const v1::Plan& plan) { return plan.warnings().empty() ? "" : plan.warnings(0); }

std::string Ratio(double objective_ms, double best_ms) {
  if (best_ms > 0) return absl::StrFormat("%.3fx", objective_ms / best_ms);
  return objective_ms > 0 ? "" : "1.000x";
}

// The unit of the plan with the longest time, as reports of plans have it.
TimeUnit UnitOf(const std::vector<ComparisonRow>& rows) {
  double longest_ms = 0;
  for (const ComparisonRow& row : rows) {
    if (row.plan.ok()) longest_ms = std::max(longest_ms, row.plan->objective_ms());
  }
  return TimeUnitFor(longest_ms);
}

std::vector<std::string> Cells(const ComparisonRow& row, double best_ms, TimeUnit unit) {
  if (!row.plan.ok()) return {row.algorithm, "-", "", "", "", "", "", ReasonText(row)};
  const v1::Plan& plan = *row.plan;
  const bool has_bound = HasBound(plan);
  return {row.algorithm,
          TimeIn(unit, plan.objective_ms()),
          Ratio(plan.objective_ms(), best_ms),
          has_bound ? TimeIn(unit, plan.lower_bound_ms()) : "",
          has_bound ? absl::StrFormat("%.2f %%", 100 * plan.relative_gap()) : "",
          IsFigure(plan) ? "" : absl::StrCat(plan.stages_size()),
          IsFigure(plan) ? "" : absl::StrFormat("%.1f", plan.provenance().cpu_time_ms()),
          IsFigure(plan) ? RemarkOf(plan) : StopReasonText(plan.provenance().stop_reason())};
}

nlohmann::ordered_json JsonRow(const ComparisonRow& row) {
  nlohmann::ordered_json json;
  json["algorithm"] = row.algorithm;
  const bool is_planned = row.plan.ok();
  const bool is_figure = is_planned && IsFigure(*row.plan);
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
  put("stop_reason", [](const v1::Plan& plan) { return v1::StopReason_Name(plan.provenance().stop_reason()); });
  if (is_figure) {
    for (const char* key : {"lower_bound_ms", "relative_gap", "stages", "cpu_time_ms", "wall_time_ms", "stop_reason"}) {
      json[key] = nullptr;
    }
    const std::string remark = RemarkOf(*row.plan);
    if (!remark.empty()) json["remark"] = remark;
  }
  json["error"] = is_planned ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(ReasonOf(row.plan.status()));
  return json;
}

}  // namespace

std::string ComparisonReport(const std::vector<ComparisonRow>& rows, const std::string& title) {
  const TimeUnit unit = UnitOf(rows);
  Table table({{"algorithm"},
               {unit.name, kRight},
               {"to best", kRight, Table::Overflow::kKept, 0, 4},
               {absl::StrCat("bound ", unit.name), kRight, Table::Overflow::kKept, 0, 2},
               {"gap", kRight},
               {"stages", kRight, Table::Overflow::kKept, 0, 3},
               {"CPU ms", kRight, Table::Overflow::kKept, 0, 1},
               Table::Wrapping("stopped, or why there is no plan")});
  const double best_ms = BestObjective(rows).value_or(0);
  for (const ComparisonRow& row : rows) table.AddRow(Cells(row, best_ms, unit));
  return absl::StrCat(Wrapped(Printable(title), 2), "\n", table.ToString());
}

std::string ComparisonJson(const std::vector<ComparisonRow>& rows, const std::string& title) {
  nlohmann::ordered_json json;
  json["title"] = title;
  json["rows"] = nlohmann::ordered_json::array();
  for (const ComparisonRow& row : rows) json["rows"].push_back(JsonRow(row));
  // Names come from strangers and may be cut in the middle of a character.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

namespace {

constexpr double kWidth = 960;
constexpr double kBarLeft = 170;
constexpr double kBarRight = 640;
constexpr double kTop = 64;
constexpr double kRowHeight = 30;
constexpr double kBarHeight = 18;
// What fits right of the names.
constexpr std::size_t kMaxReasonLength = 115;

bool IsForTheProblem(const ComparisonRow& row) {
  return row.plan.status().code() != absl::StatusCode::kInvalidArgument;
}

// One row of the picture; `longest_ms` fills the width of the bars.
std::string SvgRow(const ComparisonRow& row, double longest_ms, double y) {
  const double baseline = y + 13;
  std::string svg = absl::StrFormat("<g><text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", kBarLeft - 8,
                                    baseline, SvgLabel(row.algorithm));
  if (!row.plan.ok()) {
    absl::StrAppendFormat(&svg, "<text x=\"%.0f\" y=\"%.1f\" fill=\"#666666\">%s</text></g>\n", kBarLeft, baseline,
                          SvgLabel(ReasonText(row), kMaxReasonLength));
    return svg;
  }
  const v1::Plan& plan = *row.plan;
  const auto x = [&](double milliseconds) { return kBarLeft + milliseconds / longest_ms * (kBarRight - kBarLeft); };
  const char* const colour = IsObjectiveOptimal(plan) ? "#31a354" : "#2b5c8a";
  absl::StrAppendFormat(&svg, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" fill=\"%s\"/>\n", kBarLeft, y,
                        x(plan.objective_ms()) - kBarLeft, kBarHeight, colour);
  if (plan.lower_bound_ms() > 0) {
    absl::StrAppendFormat(
        &svg, "<line x1=\"%.2f\" y1=\"%.1f\" x2=\"%.2f\" y2=\"%.1f\" stroke=\"#de2d26\" stroke-width=\"2\"/>\n",
        x(plan.lower_bound_ms()), y - 3, x(plan.lower_bound_ms()), y + kBarHeight + 3);
  }
  absl::StrAppendFormat(&svg, "<text x=\"%.0f\" y=\"%.1f\">%s, %s, CPU %.4g ms</text></g>\n", kBarRight + 12, baseline,
                        DurationText(plan.objective_ms()),
                        HasBound(plan) ? "bound " + DurationText(plan.lower_bound_ms()) : "no bound",
                        plan.provenance().cpu_time_ms());
  return svg;
}

}  // namespace

std::string ComparisonSvg(const std::vector<ComparisonRow>& rows, const std::string& title) {
  double longest_ms = 0;
  for (const ComparisonRow& row : rows) {
    if (row.plan.ok()) longest_ms = std::max({longest_ms, row.plan->objective_ms(), row.plan->lower_bound_ms()});
  }
  if (longest_ms <= 0) longest_ms = 1;
  std::string svg = absl::StrFormat(
      "<text x=\"16\" y=\"26\" font-size=\"16\">%s</text>\n"
      "<text x=\"16\" y=\"44\">objective of each plan; red line: proven bound; green: proven optimal</text>\n",
      SvgText(title));
  double y = kTop;
  for (const ComparisonRow& row : rows) {
    if (!IsForTheProblem(row)) continue;
    absl::StrAppend(&svg, SvgRow(row, longest_ms, y));
    y += kRowHeight;
  }
  return SvgPicture(kWidth, y + 16, svg);
}

}  // namespace planwright::client
