#include "core/joint/calibration/run_fields.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/strings.h"

namespace planwright {

int64_t RunFields::Whole(std::string_view column, int64_t low, int64_t high, std::optional<int64_t> fallback) {
  if (!Has(column) && fallback.has_value()) return *fallback;
  int64_t value = 0;
  const bool is_whole = absl::SimpleAtoi(ToAbsl(table_.Field(row_, column)), &value);
  if (is_whole && value >= low && value <= high) return value;
  Report(column, absl::StrCat("must be a whole number from ", low, " to ", high));
  return low;
}

std::optional<int64_t> RunFields::OptionalWhole(std::string_view column, int64_t low, int64_t high) {
  if (!Has(column)) return std::nullopt;
  return Whole(column, low, high);
}

std::optional<double> RunFields::OptionalPositive(std::string_view column) {
  if (!Has(column)) return std::nullopt;
  double value = 0;
  const bool is_number = absl::SimpleAtod(ToAbsl(table_.Field(row_, column)), &value);
  if (is_number && std::isfinite(value) && value > 0) return value;
  Report(column, "must be a number > 0");
  return std::nullopt;
}

void RunFields::Report(std::string_view column, std::string_view rule) {
  violations_.Add(absl::StrCat("line ", table_.LineOf(row_), ", ", ToAbsl(column)),
                  absl::StrCat(ToAbsl(rule), ", is \"", ToAbsl(table_.Field(row_, column).substr(0, 80)), "\""));
}

}  // namespace planwright
