#include "client/report/json.h"

#include <google/protobuf/util/json_util.h>

namespace planwright::client {

std::string JsonText(const google::protobuf::Message& message, DefaultValues defaults) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = defaults == DefaultValues::kPrinted;
  std::string text;
  // Fails only for messages with Any fields of unknown types; ours have none.
  (void)google::protobuf::util::MessageToJsonString(message, &text, options);
  return text;
}

}  // namespace planwright::client
