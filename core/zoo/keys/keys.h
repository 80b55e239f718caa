// The part of a zoo name after "?": "key=value&key=value".
//
// A family binds its keys to the fields of its configuration, whose values are the defaults. One list gives the parser,
// the description and the messages.
#ifndef PLANWRIGHT_CORE_ZOO_KEYS_KEYS_H_
#define PLANWRIGHT_CORE_ZOO_KEYS_KEYS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace planwright {

// Not thread-safe. The fields that keys are bound to must outlive the object.
class ZooKeys {
 public:
  template <typename T>
  using Choices = std::vector<std::pair<std::string_view, T>>;

  // A whole number from `low` to `high`.
  void AddWhole(std::string_view key, int64_t low, int64_t high, int64_t& field);
  // As above; `default_text` says what an unset field follows from.
  void AddWhole(std::string_view key, int64_t low, int64_t high, std::optional<int64_t>& field,
                std::string_view default_text);
  // A number from `low` to `high`.
  void AddReal(std::string_view key, double low, double high, double& field);
  // One of some words. REQUIRES: the field's value is one of the choices; of several, the first is shown.
  template <typename T>
  void AddChoice(std::string_view key, const Choices<T>& choices, T& field);

  // Sets the fields that `query` names. `subject` opens messages, e.g. "model \"transformer\" of the zoo".
  // Errors: INVALID_ARGUMENT for a key that there is not (with the closest one), that comes twice, or whose value is
  // outside its domain; fields may be changed then.
  absl::Status Assign(std::string_view subject, std::string_view query) const;

  // Keys and values now, e.g. "layers=12 dtype=bf16".
  std::string Describe() const;

 private:
  struct Key {
    std::string name;
    std::string default_text;
    // Reads on after "must be".
    std::string domain;
    // False: outside the domain.
    std::function<bool(std::string_view)> assign;
  };

  absl::Status AssignOne(std::string_view subject, std::string_view setting, std::vector<bool>& seen) const;
  absl::Status UnknownKey(std::string_view subject, std::string_view name) const;

  std::vector<Key> keys_;
};

template <typename T>
void ZooKeys::AddChoice(std::string_view key, const Choices<T>& choices, T& field) {
  Key& added = keys_.emplace_back();
  added.name = key;
  for (const auto& [word, value] : choices) {
    if (value == field && added.default_text.empty()) added.default_text = word;
    added.domain += (added.domain.empty() ? "one of " : ", ") + std::string(word);
  }
  added.assign = [choices, &field](std::string_view text) {
    for (const auto& [word, value] : choices) {
      if (word != text) continue;
      field = value;
      return true;
    }
    return false;
  };
}

// Key "dtype": bytes of an element.
void AddDtypeKey(int64_t& bytes_per_element, ZooKeys& keys);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_KEYS_KEYS_H_
