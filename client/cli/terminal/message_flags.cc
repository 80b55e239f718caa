#include "client/cli/terminal/message_flags.h"

#include <google/protobuf/descriptor.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/importer/clusters/yaml/cluster_yaml_hosts.h"
#include "core/text/amount.h"

namespace planwright::client {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::string_view kUnspecified = "UNSPECIFIED";
constexpr double kSecondsPerYear = 365.0 * 24 * 3600;
// The most names of one list; more than any cluster has.
constexpr std::size_t kMaxListedNames = 100'000;
// Longer lists of choices stand in the help's text, where they can be wrapped.
constexpr std::size_t kMaxPlaceholderLength = 90;

// Spellings that users try and that mean one thing.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kSynonyms = {
    {{"throughput", "max_throughput"},
     {"latency", "min_latency"},
     {"noncontiguous", "non_contiguous"},
     {"1f1b", "one_f_one_b"},
     {"zb_h1", "zero_bubble_h1"}}};

// A field and the message that holds it.
struct Place {
  Message* holder;
  const FieldDescriptor* field;
};

const FieldDescriptor* FieldAt(const google::protobuf::Descriptor* type, std::string_view path) {
  const FieldDescriptor* field = nullptr;
  const std::vector<std::string> names = absl::StrSplit(std::string(path), '.');
  for (const std::string& name : names) {
    field = type->FindFieldByName(name);
    type = field->message_type();
  }
  return field;
}

// Creates the messages on the way.
Place PlaceOf(Message& message, std::string_view path) {
  Message* holder = &message;
  const std::vector<std::string> names = absl::StrSplit(std::string(path), '.');
  for (std::size_t i = 0; i + 1 < names.size(); ++i) {
    holder = holder->GetReflection()->MutableMessage(holder, holder->GetDescriptor()->FindFieldByName(names[i]));
  }
  return {holder, holder->GetDescriptor()->FindFieldByName(names.back())};
}

absl::Status MustBe(std::string_view what, std::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("must be ", std::string(what), ", is \"", std::string(text), "\""));
}

// The names that a flag offers: without the prefix that all share and without UNSPECIFIED, which is the default.
std::vector<std::pair<std::string, int>> Choices(const EnumDescriptor* type) {
  const std::size_t prefix = type->value(0)->name().size() - kUnspecified.size();
  std::vector<std::pair<std::string, int>> choices;
  for (int i = 1; i < type->value_count(); ++i) {
    choices.emplace_back(absl::AsciiStrToLower(type->value(i)->name().substr(prefix)), type->value(i)->number());
  }
  return choices;
}

std::string ChoicesText(const EnumDescriptor* type, const char* separator) {
  return absl::StrJoin(Choices(type), separator,
                       [](std::string* text, const auto& choice) { text->append(choice.first); });
}

absl::Status SetEnum(std::string_view text, const Place& place) {
  for (const auto& [synonym, meant] : kSynonyms) {
    if (text == synonym) text = meant;
  }
  for (const auto& [name, number] : Choices(place.field->enum_type())) {
    if (name != text) continue;
    const auto* reflection = place.holder->GetReflection();
    if (place.field->is_repeated()) {
      reflection->AddEnumValue(place.holder, place.field, number);
    } else {
      reflection->SetEnumValue(place.holder, place.field, number);
    }
    return absl::OkStatus();
  }
  std::vector<std::string> names;
  for (const auto& [name, number] : Choices(place.field->enum_type())) names.push_back(name);
  return NotOneOf(text, names);
}

template <typename Number>
bool ParseNumber(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool IsSize(const FieldDescriptor* field) { return field->name().ends_with("_bytes"); }

// "2GiB".
absl::Status SetSize(std::string_view text, const Place& place) {
  const std::optional<int64_t> bytes = ParseSize(text);
  if (!bytes.has_value()) return MustBe(kSizeDescription, text);
  place.holder->GetReflection()->SetInt64(place.holder, place.field, *bytes);
  return absl::OkStatus();
}

// "a,b", "node[01-04]".
absl::Status AddNames(std::string_view text, const Place& place) {
  const auto names = ExpandNames(text, kMaxListedNames);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) place.holder->GetReflection()->AddString(place.holder, place.field, name);
  return absl::OkStatus();
}

absl::Status SetField(std::string_view text, const Place& place) {
  const auto* reflection = place.holder->GetReflection();
  switch (place.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      return SetEnum(text, place);
    case FieldDescriptor::CPPTYPE_INT32: {
      int32_t number = 0;
      if (!ParseNumber(text, number)) return MustBe("an integer", text);
      if (place.field->is_repeated()) {
        reflection->AddInt32(place.holder, place.field, number);
      } else {
        reflection->SetInt32(place.holder, place.field, number);
      }
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      int64_t number = 0;
      if (IsSize(place.field)) return SetSize(text, place);
      if (!ParseNumber(text, number)) return MustBe("an integer", text);
      if (place.field->is_repeated()) {
        reflection->AddInt64(place.holder, place.field, number);
      } else {
        reflection->SetInt64(place.holder, place.field, number);
      }
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      double number = 0;
      if (!ParseNumber(text, number)) return MustBe("a number", text);
      reflection->SetDouble(place.holder, place.field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      bool value = false;
      const absl::Status status = ParseSwitch(text, value);
      if (status.ok()) reflection->SetBool(place.holder, place.field, value);
      return status;
    }
    case FieldDescriptor::CPPTYPE_STRING:
      if (!place.field->is_repeated()) {
        reflection->SetString(place.holder, place.field, std::string(text));
        return absl::OkStatus();
      }
      return AddNames(text, place);
    default:
      return ParseDuration(
          text, static_cast<google::protobuf::Duration&>(*reflection->MutableMessage(place.holder, place.field)));
  }
}

// "1,2,4": each element as if it were alone. Names are split by themselves: they may hold ranges.
absl::Status SetFieldOrList(std::string_view text, const Place& place) {
  if (!place.field->is_repeated() || place.field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    return SetField(text, place);
  }
  for (const std::string& element : std::vector<std::string>(absl::StrSplit(std::string(text), ','))) {
    const absl::Status status = SetField(element, place);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// The choices of a field that has too many of them for its placeholder; empty: it has not.
std::string LongChoices(const FieldDescriptor* field) {
  const bool is_long = field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM &&
                       (field->is_repeated() || ChoicesText(field->enum_type(), "|").size() > kMaxPlaceholderLength);
  return is_long ? ChoicesText(field->enum_type(), ", ") : "";
}

std::string Placeholder(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      if (field->is_repeated()) return "NAME,...";
      return LongChoices(field).empty() ? ChoicesText(field->enum_type(), "|") : "NAME";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "";
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "X";
    case FieldDescriptor::CPPTYPE_STRING:
      return field->is_repeated() ? "NAME,..." : "NAME";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return "DURATION";
    case FieldDescriptor::CPPTYPE_INT64:
      if (field->is_repeated()) return "N,...";
      return IsSize(field) ? "SIZE" : "N";
    default:
      return field->is_repeated() ? "N,..." : "N";
  }
}

}  // namespace

Flag MessageFlag(std::string name, std::string_view path, std::string help, Message& message) {
  const FieldDescriptor* field = FieldAt(message.GetDescriptor(), path);
  const std::string choices = LongChoices(field);
  if (!choices.empty()) absl::StrAppend(&help, ": ", choices);
  return {std::move(name), Placeholder(field), std::move(help),
          [&message, path = std::string(path)](std::string_view text) {
            return SetFieldOrList(text, PlaceOf(message, path));
          }};
}

void ClearFieldAt(std::string_view path, Message& message) {
  const Place place = PlaceOf(message, path);
  place.holder->GetReflection()->ClearField(place.holder, place.field);
}

absl::Status ParseDuration(std::string_view text, google::protobuf::Duration& duration) {
  constexpr std::array<std::pair<std::string_view, double>, 6> kUnits = {
      {{"ms", 1e-3}, {"us", 1e-6}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}}};
  std::string_view digits = text;
  double unit_seconds = 1;
  for (const auto& [unit, seconds] : kUnits) {
    if (!text.ends_with(unit)) continue;
    digits.remove_suffix(unit.size());
    unit_seconds = seconds;
    break;
  }
  double number = 0;
  const bool is_number = ParseNumber(digits, number) && std::isfinite(number);
  const double seconds = number * unit_seconds;
  if (!is_number || seconds < 0 || seconds > kSecondsPerYear) {
    return MustBe("a time such as 500ms, 10s, 2m, 1h or 3d, at most a year", text);
  }
  const double whole = std::floor(seconds);
  duration.set_seconds(static_cast<int64_t>(whole));
  duration.set_nanos(static_cast<int32_t>(std::min(std::llround((seconds - whole) * 1e9), 999'999'999LL)));
  return absl::OkStatus();
}

}  // namespace planwright::client
