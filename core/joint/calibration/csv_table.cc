#include "core/joint/calibration/csv_table.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planwright {
namespace {

// Reads a text field by field.
class CsvReader {
 public:
  CsvReader(std::string_view text, Violations& violations) : text_(text), violations_(violations) {}

  bool AtEnd() const { return at_ >= text_.size(); }
  std::size_t line() const { return line_; }

  // The fields up to the end of the line.
  std::vector<std::string> NextRow() {
    std::vector<std::string> fields;
    do {
      fields.push_back(NextField());
    } while (Skip(','));
    Skip('\r');
    if (Skip('\n')) ++line_;
    return fields;
  }

 private:
  bool Skip(char expected) {
    if (AtEnd() || text_[at_] != expected) return false;
    ++at_;
    return true;
  }

  std::string NextField() {
    std::string field;
    if (Skip('"')) field = Quoted();
    const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    field += text_.substr(at_, end - at_);
    at_ = end;
    return field;
  }

  // Two quotes are one of the text.
  std::string Quoted() {
    const std::size_t begin = line_;
    std::string field;
    while (!AtEnd()) {
      const char next = text_[at_++];
      if (next == '"' && !Skip('"')) return field;
      if (next == '\n') ++line_;
      field += next;
    }
    violations_.Add(absl::StrCat("line ", begin), "has a quote that does not end");
    return field;
  }

  std::string_view text_;
  Violations& violations_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

}  // namespace

CsvTable::CsvTable(std::string_view text, Violations& violations) {
  CsvReader reader(text, violations);
  const std::vector<std::string> names = reader.NextRow();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!columns_.emplace(names[i], i).second)
      violations.Add("line 1", absl::StrCat("has column \"", names[i], "\" twice"));
  }
  while (!reader.AtEnd()) {
    Row row{.line = reader.line(), .fields = reader.NextRow()};
    if (row.fields.size() == 1 && row.fields.front().empty()) continue;
    if (row.fields.size() == names.size()) {
      rows_.push_back(std::move(row));
    } else {
      violations.Add(absl::StrCat("line ", row.line),
                     absl::StrCat("must have ", names.size(), " fields, has ", row.fields.size()));
    }
  }
}

std::string_view CsvTable::Field(std::size_t row, std::string_view column) const {
  const auto found = columns_.find(column);
  return found == columns_.end() ? std::string_view() : rows_[row].fields[found->second];
}

}  // namespace planwright
