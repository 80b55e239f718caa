// Typed access to the fields of a JSON object that collects what is wrong instead of stopping at it.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_READING_JSON_FIELDS_H_
#define PLANWRIGHT_CLIENT_IMPORTER_READING_JSON_FIELDS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "client/library/error_details.h"

namespace planwright::client {

// `value` as a sentence shows it: short, strings in quotes, structures by their kind.
std::string Shown(const nlohmann::json& value);

// `value` as an integer. Accepts 3 and 3.0; a boolean is none. nullopt: not a whole number, or beyond int64.
std::optional<int64_t> WholeNumber(const nlohmann::json& value);

// A field of an object; nullptr: there is none, or it is null, or `value` is no object.
const nlohmann::json* FieldOf(const nlohmann::json& value, const char* name);

// Reads one object. Every getter returns nullopt when the field is missing or null, or when it is wrong, which it
// reports. The object, the path and the list outlive the reader.
class FieldReader {
 public:
  // `path` is put before the name of a field: "nodes[3]", or "" for the top level. A value that is no object is
  // reported once; then no getter reports anything.
  FieldReader(const nlohmann::json& value, std::string path, ViolationList& violations);

  bool is_object() const { return object_ != nullptr; }
  bool Has(const char* name) const { return Find(name) != nullptr; }

  // Reports the field when it is missing.
  void Require(const char* name);

  // Finite and >= 0.
  std::optional<double> NonNegative(const char* name);
  // A whole number in [low, high].
  std::optional<int64_t> Integer(const char* name, int64_t low, int64_t high);
  // A boolean, or 0 or 1.
  std::optional<bool> Flag(const char* name);
  std::optional<std::string> String(const char* name);
  // nullptr instead of nullopt.
  const nlohmann::json* Array(const char* name);

  void Report(const char* name, std::string rule);

 private:
  const nlohmann::json* Find(const char* name) const;

  const nlohmann::json* object_ = nullptr;
  std::string path_;
  ViolationList& violations_;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_READING_JSON_FIELDS_H_
