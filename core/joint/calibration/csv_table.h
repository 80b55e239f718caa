// A table in comma-separated values (RFC 4180): the first line names the columns.
#ifndef PLANWRIGHT_CORE_JOINT_CALIBRATION_CSV_TABLE_H_
#define PLANWRIGHT_CORE_JOINT_CALIBRATION_CSV_TABLE_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/violations.h"

namespace planwright {

class CsvTable {
 public:
  // Reports quotes that do not end and lines with more or fewer fields than the first.
  CsvTable(std::string_view text, Violations& violations);

  std::size_t num_rows() const { return rows_.size(); }
  // The line of the file where a row begins, from 1.
  std::size_t LineOf(std::size_t row) const { return rows_[row].line; }
  bool Has(std::string_view column) const { return columns_.contains(column); }
  // Empty: the table has no such column, or the field is empty.
  std::string_view Field(std::size_t row, std::string_view column) const;

 private:
  struct Row {
    std::size_t line = 1;
    std::vector<std::string> fields;
  };

  std::map<std::string, std::size_t, std::less<>> columns_;
  std::vector<Row> rows_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_CALIBRATION_CSV_TABLE_H_
