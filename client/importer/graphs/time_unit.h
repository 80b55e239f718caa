// Units of times for formats that state none.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TIME_UNIT_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TIME_UNIT_H_

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace planwright::client {

// In milliseconds.
inline constexpr std::array<std::pair<std::string_view, double>, 4> kTimeUnitsMs = {
    {{"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}}};

// "forward_us" with `prefix` "forward_": milliseconds of one. nullopt: the column is called otherwise.
inline std::optional<double> UnitOfColumn(std::string_view column, std::string_view prefix) {
  if (!column.starts_with(prefix)) return std::nullopt;
  column.remove_prefix(prefix.size());
  const auto* const unit =
      std::find_if(kTimeUnitsMs.begin(), kTimeUnitsMs.end(), [&](const auto& each) { return each.first == column; });
  return unit == kTimeUnitsMs.end() ? std::nullopt : std::optional(unit->second);
}

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TIME_UNIT_H_
