#include "core/base/text_records.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_split.h"

namespace planwright {
namespace {

constexpr char kFieldSeparator = '\x1f';
constexpr char kRecordSeparator = '\x1e';

void AppendField(const std::string& field, std::string& text) {
  std::transform(field.begin(), field.end(), std::back_inserter(text),
                 [](char c) { return c == kFieldSeparator || c == kRecordSeparator ? '?' : c; });
}

}  // namespace

std::string PackRecords(const std::vector<Record>& records) {
  std::string text;
  for (const Record& record : records) {
    if (&record != &records.front()) text.push_back(kRecordSeparator);
    for (const std::string& field : record) {
      if (&field != &record.front()) text.push_back(kFieldSeparator);
      AppendField(field, text);
    }
  }
  return text;
}

std::vector<Record> UnpackRecords(const std::string& text) {
  std::vector<Record> records;
  if (text.empty()) return records;
  for (const absl::string_view record : absl::StrSplit(text, kRecordSeparator)) {
    records.push_back(absl::StrSplit(record, kFieldSeparator));
  }
  return records;
}

}  // namespace planwright
