// Messages and violations as text, for tests of everything that speaks the contract.
#ifndef PLANWRIGHT_TESTS_SUPPORT_WIRE_H_
#define PLANWRIGHT_TESTS_SUPPORT_WIRE_H_

#include <google/protobuf/text_format.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/violations.h"

namespace planwright {

// The message that `text` (protobuf text format) spells. Throws std::invalid_argument where it is none.
template <typename Message>
Message Wire(const std::string& text) {
  Message message;
  if (!google::protobuf::TextFormat::ParseFromString(text, &message)) {
    throw std::invalid_argument("not a " + message.GetTypeName() + ": " + text);
  }
  return message;
}

// "path: rule" of each.
inline std::vector<std::string> Lines(const std::vector<Violation>& violations) {
  std::vector<std::string> lines;
  lines.reserve(violations.size());
  for (const Violation& violation : violations) lines.push_back(violation.path + ": " + violation.rule);
  return lines;
}
inline std::vector<std::string> Lines(const Violations& violations) { return Lines(violations.listed()); }

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_WIRE_H_
