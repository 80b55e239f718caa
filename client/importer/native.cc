#include "client/importer/native.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

constexpr int kMaxTextProtoDepth = 100;

std::string Without(std::string text, std::string_view removed) {
  const std::size_t position = text.find(removed);
  if (position != std::string::npos) text.erase(position, removed.size());
  return text;
}

// Splits protobuf's "(operators[0].costs[1]) forward: Cannot find field." or "(operators[0].name): invalid value ..."
// into path and rule.
FieldViolation JsonViolation(std::string_view message, std::string_view prefix) {
  const std::size_t open = message.find('(');
  const std::size_t close = message.find(')', open);
  if (open != 0 || close == std::string_view::npos) return {"", std::string(message)};
  std::string path = absl::StrCat(std::string(prefix), std::string(message.substr(1, close - 1)));
  std::string rest(message.substr(close + 1));
  const std::size_t colon = rest.find(": ");
  if (colon == std::string::npos) return {path, rest};
  if (colon > 1) absl::StrAppend(&path, path.empty() || path.back() == '.' ? "" : ".", rest.substr(1, colon - 1));
  const std::string rule = rest.substr(colon + 2);
  if (rule.find("Cannot find field") != std::string::npos) return {path, "is not a field of this format"};
  return {path, Without(rule, "type.googleapis.com/")};
}

// Keeps the first error, with its place.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (text_.empty()) text_ = absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

absl::Status ReadNativeJson(std::string_view text, std::string_view source, std::string_view prefix,
                            google::protobuf::Message& message) {
  const auto status = google::protobuf::util::JsonStringToMessage({text.data(), text.size()}, &message);
  if (status.ok()) return absl::OkStatus();
  const std::string reason(status.message().data(), status.message().size());
  FieldViolation violation = JsonViolation(reason, prefix);
  ViolationList violations;
  violations.Add(std::move(violation.field), std::move(violation.description));
  return violations.ToStatus(source);
}

absl::Status ReadTextProto(std::string_view text, std::string_view source, google::protobuf::Message& message) {
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": is larger than 2 GiB"));
  }
  google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxTextProtoDepth);
  if (parser.Parse(&stream, &message)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": ", error.text()));
}

}  // namespace planwright::client
