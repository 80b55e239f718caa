#include "core/zoo/keys/keys.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/index.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "core/text/closest_name.h"

namespace planwright {
namespace {

// Sets the field where `text` is one number from `low` to `high`, and says whether it is. NaN is not.
template <typename T, typename Field>
bool ParseNumber(std::string_view text, T low, T high, Field& field) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool complete = error == std::errc() && end == text.data() + text.size();
  if (!complete || !(number >= low && number <= high)) return false;
  field = number;
  return true;
}

template <typename T, typename Field>
std::function<bool(std::string_view)> NumberSetter(T low, T high, Field& field) {
  return [low, high, &field](std::string_view text) { return ParseNumber(text, low, high, field); };
}

std::string WholeDomain(int64_t low, int64_t high) { return absl::StrCat("a whole number from ", low, " to ", high); }

}  // namespace

void ZooKeys::AddWhole(std::string_view key, int64_t low, int64_t high, int64_t& field) {
  keys_.push_back({std::string(key), absl::StrCat(field), WholeDomain(low, high), NumberSetter(low, high, field)});
}

void ZooKeys::AddWhole(std::string_view key, int64_t low, int64_t high, std::optional<int64_t>& field,
                       std::string_view default_text) {
  const std::string shown = field.has_value() ? absl::StrCat(*field) : std::string(default_text);
  keys_.push_back({std::string(key), shown, WholeDomain(low, high), NumberSetter(low, high, field)});
}

void ZooKeys::AddReal(std::string_view key, double low, double high, double& field) {
  keys_.push_back({std::string(key), absl::StrCat(field), absl::StrCat("a number from ", low, " to ", high),
                   NumberSetter(low, high, field)});
}

absl::Status ZooKeys::Assign(std::string_view subject, std::string_view query) const {
  std::vector<bool> seen(keys_.size());
  while (true) {
    const std::size_t end = query.find('&');
    RETURN_IF_ERROR(AssignOne(subject, query.substr(0, end), seen));
    if (end == std::string_view::npos) return absl::OkStatus();
    query.remove_prefix(end + 1);
  }
}

absl::Status ZooKeys::AssignOne(std::string_view subject, std::string_view setting, std::vector<bool>& seen) const {
  const std::size_t equals = setting.find('=');
  if (equals == std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToAbsl(subject), ": \"", ToAbsl(setting), "\" must have the form key=value"));
  }
  const std::string_view name = setting.substr(0, equals);
  const std::string_view value = setting.substr(equals + 1);
  const auto key = std::ranges::find(keys_, name, &Key::name);
  if (key == keys_.end()) return UnknownKey(subject, name);
  const auto index = static_cast<std::size_t>(key - keys_.begin());
  if (seen[index]) {
    return absl::InvalidArgumentError(absl::StrCat(ToAbsl(subject), ": ", ToAbsl(name), " is set twice"));
  }
  seen[index] = true;
  if (key->assign(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(ToAbsl(subject), ": ", ToAbsl(name), " must be ", key->domain, ", is \"", ToAbsl(value), "\""));
}

absl::Status ZooKeys::UnknownKey(std::string_view subject, std::string_view name) const {
  const auto names = Mapped(keys_, [](const Key& key) { return std::string_view(key.name); });
  const std::string list = absl::StrJoin(names, ", ", [](std::string* out, std::string_view key) { out->append(key); });
  return absl::InvalidArgumentError(absl::StrCat(ToAbsl(subject), " has no key \"", ToAbsl(name),
                                                 "\"; the closest is \"", ToAbsl(names[ClosestName(name, names)]),
                                                 "\" of: ", list));
}

std::string ZooKeys::Describe() const {
  return absl::StrJoin(keys_, " ",
                       [](std::string* out, const Key& key) { absl::StrAppend(out, key.name, "=", key.default_text); });
}

void AddDtypeKey(int64_t& bytes_per_element, ZooKeys& keys) {
  keys.AddChoice<int64_t>("dtype", {{"bf16", 2}, {"fp16", 2}, {"fp32", 4}}, bytes_per_element);
}

}  // namespace planwright
