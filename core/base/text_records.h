// Lists of text fields packed into one string: how details travel inside the payload of an absl::Status.
#ifndef PLANWRIGHT_CORE_BASE_TEXT_RECORDS_H_
#define PLANWRIGHT_CORE_BASE_TEXT_RECORDS_H_

#include <string>
#include <vector>

namespace planwright {

using Record = std::vector<std::string>;

// The control characters 0x1e and 0x1f frame records and fields; inside a field they become '?'.
// REQUIRES: every record has at least one field.
std::string PackRecords(const std::vector<Record>& records);

// What PackRecords packed; empty for the empty string.
std::vector<Record> UnpackRecords(const std::string& text);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_TEXT_RECORDS_H_
