// Our own formats: the messages of planwright/v1 as JSON (protobuf mapping) or as text proto.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_READING_NATIVE_H_
#define PLANWRIGHT_CLIENT_IMPORTER_READING_NATIVE_H_

#include <google/protobuf/message.h>

#include <string_view>

#include "absl/status/status.h"

namespace planwright::client {

// Reads the JSON mapping of `message`; field names in either spelling. `prefix` is put before the paths of errors:
// "graph." when the text is a graph. Unknown fields are errors.
// Errors: INVALID_ARGUMENT with one violation, the first. REQUIRES: OutlineOf(text) is OK.
absl::Status ReadNativeJson(std::string_view text, std::string_view source, std::string_view prefix,
                            google::protobuf::Message& message);

// Reads text proto. Errors: INVALID_ARGUMENT that names line and column.
absl::Status ReadTextProto(std::string_view text, std::string_view source, google::protobuf::Message& message);

// Whether protobuf would take `text` for a string.
bool IsUtf8(std::string_view text);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_READING_NATIVE_H_
