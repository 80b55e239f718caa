#include "client/importer/reading/json_fields.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/importer/reading/cells.h"

namespace planwright::client {
namespace {

using nlohmann::json;

std::string MustBe(std::string_view rule, const json& found) {
  return absl::StrCat("must be ", std::string(rule), ", is ", Shown(found));
}

}  // namespace

std::string Shown(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  // A cut may split a character of several bytes: those become the replacement character.
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() <= kMaxShownLength) return text;
  text.resize(kMaxShownLength);
  return json(text + "...").dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<int64_t> WholeNumber(const json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const auto number = value.get<double>();
  // 2^53: above it a double no longer says which integer was meant.
  if (number != std::trunc(number) || std::abs(number) > 9007199254740992.0) return std::nullopt;
  return static_cast<int64_t>(number);
}

const json* FieldOf(const json& value, const char* name) {
  if (!value.is_object()) return nullptr;
  const auto field = value.find(name);
  return field == value.end() || field->is_null() ? nullptr : &*field;
}

FieldReader::FieldReader(const json& value, std::string path, ViolationList& violations)
    : path_(std::move(path)), violations_(violations) {
  if (value.is_object()) {
    object_ = &value;
  } else {
    violations_.Add(path_, MustBe("an object", value));
  }
}

const json* FieldReader::Find(const char* name) const { return object_ == nullptr ? nullptr : FieldOf(*object_, name); }

void FieldReader::Report(const char* name, std::string rule) {
  violations_.Add(path_.empty() ? name : absl::StrCat(path_, ".", name), std::move(rule));
}

void FieldReader::Require(const char* name) {
  if (object_ != nullptr && !Has(name)) Report(name, "is missing");
}

std::optional<double> FieldReader::NonNegative(const char* name) {
  const json* field = Find(name);
  if (field == nullptr) return std::nullopt;
  if (!field->is_number()) {
    Report(name, MustBe("a number", *field));
    return std::nullopt;
  }
  const auto number = field->get<double>();
  if (number < 0) {
    Report(name, MustBe(">= 0", *field));
    return std::nullopt;
  }
  return number;
}

std::optional<int64_t> FieldReader::Integer(const char* name, int64_t low, int64_t high) {
  const json* field = Find(name);
  if (field == nullptr) return std::nullopt;
  const auto number = WholeNumber(*field);
  if (number.has_value() && *number >= low && *number <= high) return number;
  Report(name, MustBe(absl::StrCat("an integer from ", low, " to ", high), *field));
  return std::nullopt;
}

std::optional<bool> FieldReader::Flag(const char* name) {
  const json* field = Find(name);
  if (field == nullptr) return std::nullopt;
  if (field->is_boolean()) return field->get<bool>();
  const auto number = WholeNumber(*field);
  if (number == 0 || number == 1) return number == 1;
  Report(name, MustBe("true, false, 0 or 1", *field));
  return std::nullopt;
}

std::optional<std::string> FieldReader::String(const char* name) {
  const json* field = Find(name);
  if (field == nullptr) return std::nullopt;
  if (field->is_string()) return field->get<std::string>();
  Report(name, MustBe("a string", *field));
  return std::nullopt;
}

const json* FieldReader::Array(const char* name) {
  const json* field = Find(name);
  if (field == nullptr || field->is_array()) return field;
  Report(name, MustBe("a list", *field));
  return nullptr;
}

}  // namespace planwright::client
