// Rules that the validators share. Internal to core/model.
#ifndef PLANWRIGHT_CORE_MODEL_VALIDATION_RULES_H_
#define PLANWRIGHT_CORE_MODEL_VALIDATION_RULES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/units.h"
#include "core/base/violations.h"

namespace planwright {

// The most devices that an interconnect may have which needs a table of all pairs.
inline constexpr std::size_t kMaxTableDevices = 2'048;

// "prefix[index]".
std::string ElementPath(std::string_view prefix, std::size_t index);

// Each adds a violation at `path`() when the rule is broken. Paths are made only then: graphs are large and mostly
// valid.
template <typename Path>
void RequireAtLeast(int64_t value, int64_t least, const Path& path, Violations& violations) {
  if (value < least) violations.Add(path(), absl::StrCat("must be >= ", least, ", is ", value));
}

template <typename Path>
void RequireNonNegative(Picoseconds time, const Path& path, Violations& violations) {
  if (time < Picoseconds(0)) violations.Add(path(), absl::StrCat("must be >= 0, is ", ToMilliseconds(time)));
}

// Finite and >= 0; finite and > 0.
bool IsNonNegative(double value);
bool IsPositive(double value);

template <typename Path>
void RequireNonNegative(double value, const Path& path, Violations& violations) {
  if (!IsNonNegative(value)) violations.Add(path(), absl::StrCat("must be finite and >= 0, is ", value));
}

template <typename Path>
void RequirePositive(double value, const Path& path, Violations& violations) {
  if (!IsPositive(value)) violations.Add(path(), absl::StrCat("must be finite and > 0, is ", value));
}

// The names of one list: 1 to `max_bytes` bytes, each different.
class NameRules {
 public:
  // `list`: path of the list, e.g. "graph.operators". It and the names outlive the object.
  NameRules(std::string_view list, std::size_t count, int64_t max_bytes, Violations& violations);

  // Checks the name of element `index`. Call it in ascending order.
  void Check(std::string_view name, std::size_t index);

 private:
  std::string_view list_;
  int64_t max_bytes_;
  Violations& violations_;
  absl::flat_hash_map<std::string_view, std::size_t> first_index_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_VALIDATION_RULES_H_
