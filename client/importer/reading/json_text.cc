#include "client/importer/reading/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace planwright::client {
namespace {

using nlohmann::json;

// Line and column of the last byte that was read.
std::string PlaceOf(std::string_view text, std::size_t bytes_read) {
  const std::string_view read = text.substr(0, bytes_read);
  const auto line = std::count(read.begin(), read.end(), '\n') + 1;
  const std::size_t line_start = read.rfind('\n') == std::string_view::npos ? 0 : read.rfind('\n') + 1;
  return absl::StrCat("line ", line, ", column ", std::max<std::size_t>(read.size() - line_start, 1));
}

// What is wrong, without the library's name for it and the place, which we state ourselves.
std::string ReasonIn(std::string message) {
  for (const std::string_view prefix : {"] ", "syntax error while parsing "}) {
    const std::size_t position = message.find(prefix);
    if (position != std::string::npos) message.erase(0, position + prefix.size());
  }
  return message;
}

class OutlineHandler final : public json::json_sax_t {
 public:
  OutlineHandler(std::string_view text, std::size_t max_values) : text_(text), max_values_(max_values) {}

  bool null() override { return Count(); }
  bool boolean(bool) override { return Count(); }
  bool number_integer(json::number_integer_t) override { return Count(); }
  bool number_unsigned(json::number_unsigned_t) override { return Count(); }
  bool number_float(json::number_float_t, const json::string_t&) override { return Count(); }
  bool string(json::string_t&) override { return Count(); }
  bool binary(json::binary_t&) override { return Count(); }
  bool start_object(std::size_t) override {
    if (depth_ == 0) outline_.is_object = true;
    return Enter();
  }
  bool key(json::string_t& key) override {
    if (depth_ == 1) outline_.keys.insert(key);
    return true;
  }
  bool end_object() override { return Leave(); }
  bool start_array(std::size_t) override { return Enter(); }
  bool end_array() override { return Leave(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    error_ = absl::StrCat(PlaceOf(text_, position), ": ", ReasonIn(error.what()));
    return false;
  }

  const JsonOutline& outline() const { return outline_; }
  const std::string& error() const { return error_; }
  bool has_too_many() const { return outline_.num_values > max_values_; }

 private:
  bool Count() { return ++outline_.num_values <= max_values_; }
  bool Enter() {
    if (!Count()) return false;
    if (++depth_ <= kMaxJsonDepth) return true;
    error_ = absl::StrCat("is nested deeper than ", kMaxJsonDepth, " levels");
    return false;
  }
  bool Leave() {
    --depth_;
    return true;
  }

  std::string_view text_;
  const std::size_t max_values_;
  std::size_t depth_ = 0;
  JsonOutline outline_;
  std::string error_;
};

}  // namespace

absl::StatusOr<JsonOutline> OutlineOf(std::string_view text, std::string_view source, std::size_t max_values) {
  OutlineHandler handler(text, max_values);
  if (json::sax_parse(text, &handler)) return handler.outline();
  if (handler.has_too_many()) {
    return absl::ResourceExhaustedError(absl::StrCat(std::string(source), ": has more than ", max_values, " values"));
  }
  return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": ", handler.error()));
}

}  // namespace planwright::client
