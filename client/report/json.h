// Messages as JSON for programs.
#ifndef PLANWRIGHT_CLIENT_REPORT_JSON_H_
#define PLANWRIGHT_CLIENT_REPORT_JSON_H_

#include <google/protobuf/message.h>

#include <string>

namespace planwright::client {

enum class DefaultValues { kPrinted, kOmitted };

// The protobuf JSON mapping, indented, with a final newline; field names as in the proto; 64-bit integers are strings,
// as the mapping says. REQUIRES: strings are UTF-8, which parsed messages guarantee.
std::string JsonText(const google::protobuf::Message& message, DefaultValues defaults = DefaultValues::kPrinted);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_JSON_H_
