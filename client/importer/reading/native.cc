#include "client/importer/reading/native.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/library/did_you_mean.h"
#include "client/library/error_details.h"
#include "planwright/v1/cluster.pb.h"

namespace planwright::client {
namespace {

constexpr int kMaxTextProtoDepth = 100;
constexpr char kUnknownField[] = "is not a field of this format";

// The names of the fields of `type` and of all messages below it.
void CollectFieldNames(const google::protobuf::Descriptor& type, std::set<const google::protobuf::Descriptor*>& seen,
                       std::vector<std::string>& names) {
  if (!seen.insert(&type).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    names.push_back(type.field(i)->name());
    if (type.field(i)->message_type() != nullptr) CollectFieldNames(*type.field(i)->message_type(), seen, names);
  }
}

// "; did you mean forward_ms?", or nothing. `path` ends in the unknown name.
std::string Suggestion(const std::string& path, const google::protobuf::Descriptor& type) {
  std::set<const google::protobuf::Descriptor*> seen;
  std::vector<std::string> names;
  CollectFieldNames(type, seen, names);
  const std::string unknown = path.substr(path.rfind('.') + 1);
  // Another message may have a field of that name.
  std::erase(names, unknown);
  return DidYouMean(unknown, names);
}

std::string Without(std::string text, std::string_view removed) {
  const std::size_t position = text.find(removed);
  if (position != std::string::npos) text.erase(position, removed.size());
  return text;
}

bool IsFieldName(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c)); });
}

// "must be one of PASS_FORWARD, PASS_BACKWARD, is "FORWARD"; did you mean PASS_FORWARD?" of protobuf's rule
// "invalid value "FORWARD" for type planwright.v1.Pass"; other rules as they are.
std::string WithChoices(const std::string& rule) {
  constexpr std::string_view kBegin = "invalid value \"";
  constexpr std::string_view kBetween = "\" for type ";
  const std::size_t between = rule.rfind(kBetween);
  if (!rule.starts_with(kBegin) || between == std::string::npos) return rule;
  const google::protobuf::EnumDescriptor* type =
      google::protobuf::DescriptorPool::generated_pool()->FindEnumTypeByName(rule.substr(between + kBetween.size()));
  if (type == nullptr) return rule;
  const std::string value = rule.substr(kBegin.size(), between - kBegin.size());
  std::vector<std::string> choices;
  // The first one is what a field that is left out has.
  for (int i = 1; i < type->value_count(); ++i) choices.push_back(type->value(i)->name());
  return absl::StrCat("must be one of ", absl::StrJoin(choices, ", "), ", is \"", value, "\"",
                      DidYouMean(value, choices));
}

// Splits protobuf's "(operators[0].costs[1]) forward: Cannot find field.", "(operators[0].name): invalid value ..." or
// "operator: Cannot find field." into path and rule.
FieldViolation JsonViolation(std::string_view message, std::string_view prefix) {
  std::string path(prefix);
  std::string_view rest = message;
  const std::size_t close = rest.find(')');
  if (rest.starts_with('(') && close != std::string_view::npos) {
    path += rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
  }
  if (rest.starts_with(' ')) {
    path += '.';
    rest.remove_prefix(1);
  }
  const std::size_t colon = rest.find(": ");
  if (colon == std::string_view::npos || !IsFieldName(rest.substr(0, colon))) return {"", std::string(message)};
  path += rest.substr(0, colon);
  const std::string rule(rest.substr(colon + 2));
  if (rule.starts_with("Cannot find field")) return {path, kUnknownField};
  return {path, WithChoices(Without(rule, "type.googleapis.com/"))};
}

// Whether every string of `message` is UTF-8: text proto lets any bytes in, but such a message can be neither sent nor
// printed as JSON.
bool HasUtf8Strings(const google::protobuf::Message& message) {
  const google::protobuf::LogSilencer silence;
  const std::unique_ptr<google::protobuf::Message> copy(message.New());
  return copy->ParseFromString(message.SerializeAsString());
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
  if (violation.description == kUnknownField)
    violation.description += Suggestion(violation.field, *message.GetDescriptor());
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
  if (!parser.Parse(&stream, &message)) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": ", error.text()));
  }
  if (HasUtf8Strings(message)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": a string is not valid UTF-8"));
}

bool IsUtf8(std::string_view text) {
  v1::Cluster probe;
  probe.set_display_name(std::string(text));
  return HasUtf8Strings(probe);
}

}  // namespace planwright::client
