// What targets that read requests in text proto share.
#ifndef PLANWRIGHT_TESTS_FUZZ_TEXT_PROTO_H_
#define PLANWRIGHT_TESTS_FUZZ_TEXT_PROTO_H_

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "core/model/validator.h"

namespace planwright {

// Small enough for many runs a second.
inline constexpr ModelLimits kFuzzedLimits = {
    .max_operators = 12, .max_tensors = 40, .max_devices = 6, .max_name_bytes = 16};

class SilentErrors : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int /*line*/, google::protobuf::io::ColumnNumber /*column*/, const std::string& /*message*/) override {}
};

// nullopt: the bytes are no such message.
template <typename Message>
std::optional<Message> ParseTextProto(const uint8_t* data, std::size_t size) {
  SilentErrors errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(100);
  Message message;
  if (!parser.ParseFromString(std::string(reinterpret_cast<const char*>(data), size), &message)) return std::nullopt;
  return message;
}

// Says what is wrong and ends the program.
[[noreturn]] inline void Fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_FUZZ_TEXT_PROTO_H_
