// JSON written by strangers, read without trusting it.
//
// The parser of nlohmann-json does not recurse, so brackets without end cost no stack; nesting is limited all the same
// because what works on the result may recurse.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_READING_JSON_TEXT_H_
#define PLANWRIGHT_CLIENT_IMPORTER_READING_JSON_TEXT_H_

#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace planwright::client {

inline constexpr std::size_t kMaxJsonDepth = 100;

// What a JSON text is about, seen from its first level.
struct JsonOutline {
  // False for an array or a bare value.
  bool is_object = false;
  std::set<std::string, std::less<>> keys;
  // Objects, arrays, texts, numbers and so on, on all levels: what the text takes as values is some hundred bytes for
  // each at most.
  std::size_t num_values = 0;

  bool Has(std::string_view key) const { return keys.contains(key); }
};

// Checks the whole text in one pass that stores nothing but the outline.
// Errors: INVALID_ARGUMENT that begins with `source` and the place ("line 3, column 7"), for anything that is not JSON
// (NaN and Infinity are not), numbers beyond double, text that is not UTF-8, and nesting deeper than kMaxJsonDepth;
// RESOURCE_EXHAUSTED for more values than `max_values`.
absl::StatusOr<JsonOutline> OutlineOf(std::string_view text, std::string_view source,
                                      std::size_t max_values = std::numeric_limits<std::size_t>::max());

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_READING_JSON_TEXT_H_
