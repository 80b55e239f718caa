// Several algorithms on one problem, side by side.
#ifndef PLANWRIGHT_CLIENT_REPORT_COMPARISON_REPORT_H_
#define PLANWRIGHT_CLIENT_REPORT_COMPARISON_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planwright/v1/plan.pb.h"

namespace planwright::client {

// What one algorithm answered.
struct ComparisonRow {
  // As in Provenance.algorithm, or "auto".
  std::string algorithm;
  absl::StatusOr<v1::Plan> plan;
};

// A table: value, how it compares with the best one, bound, gap, stages, time, and why there is no plan.
std::string ComparisonReport(const std::vector<ComparisonRow>& rows, const std::string& title);

// The rows as a JSON object with a list "rows"; figures that a row does not have are null.
std::string ComparisonJson(const std::vector<ComparisonRow>& rows, const std::string& title);

// The rows as a picture: a bar for the time of each plan with a mark at its bound, and what the search took; SVG 1.1.
std::string ComparisonSvg(const std::vector<ComparisonRow>& rows, const std::string& title);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_COMPARISON_REPORT_H_
