// Typed fields of one row of a table of runs, which report what is wrong with them.
#ifndef PLANWRIGHT_CORE_JOINT_CALIBRATION_RUN_FIELDS_H_
#define PLANWRIGHT_CORE_JOINT_CALIBRATION_RUN_FIELDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/violations.h"
#include "core/joint/calibration/csv_table.h"

namespace planwright {

class RunFields {
 public:
  RunFields(const CsvTable& table, std::size_t row, Violations& violations)
      : table_(table), row_(row), violations_(violations) {}

  std::string Text(std::string_view column) const { return std::string(table_.Field(row_, column)); }
  bool Has(std::string_view column) const { return !table_.Field(row_, column).empty(); }

  // A whole number from `low` to `high`; `fallback` where the field is empty; `low` where it is wrong.
  int64_t Whole(std::string_view column, int64_t low, int64_t high, std::optional<int64_t> fallback = std::nullopt);
  std::optional<int64_t> OptionalWhole(std::string_view column, int64_t low, int64_t high);
  // Finite and > 0.
  std::optional<double> OptionalPositive(std::string_view column);
  // The value of the word; the first one's where the field is empty or wrong.
  template <typename Value>
  Value Choice(std::string_view column, const std::vector<std::pair<std::string_view, Value>>& choices) {
    const std::string_view text = table_.Field(row_, column);
    if (text.empty()) return choices.front().second;
    std::string words;
    for (const auto& [word, value] : choices) {
      if (word == text) return value;
      words += (words.empty() ? "" : ", ") + std::string(word);
    }
    Report(column, "must be one of " + words);
    return choices.front().second;
  }

  // "line 7, column: must be ..., is "text"".
  void Report(std::string_view column, std::string_view rule);

 private:
  const CsvTable& table_;
  std::size_t row_;
  Violations& violations_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_CALIBRATION_RUN_FIELDS_H_
