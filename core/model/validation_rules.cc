#include "core/model/validation_rules.h"

#include <cmath>

#include "core/base/strings.h"

namespace planwright {

std::string ElementPath(std::string_view prefix, std::size_t index) {
  return absl::StrCat(ToAbsl(prefix), "[", index, "]");
}

bool IsNonNegative(double value) { return std::isfinite(value) && value >= 0; }

bool IsPositive(double value) { return std::isfinite(value) && value > 0; }

NameRules::NameRules(std::string_view list, std::size_t count, int64_t max_bytes, Violations& violations)
    : list_(list), max_bytes_(max_bytes), violations_(violations) {
  first_index_.reserve(count);
}

void NameRules::Check(std::string_view name, std::size_t index) {
  const auto path = [&] { return ElementPath(list_, index) + ".name"; };
  if (name.empty()) {
    violations_.Add(path(), "must not be empty");
    return;
  }
  if (static_cast<int64_t>(name.size()) > max_bytes_) {
    violations_.Add(path(), absl::StrCat("must have at most ", max_bytes_, " bytes, has ", name.size()));
    return;
  }
  const auto [first, inserted] = first_index_.try_emplace(name, index);
  if (inserted) return;
  violations_.Add(path(), absl::StrCat("must be unique, \"", ToAbsl(name), "\" is also the name of ",
                                       ElementPath(list_, first->second)));
}

}  // namespace planwright
