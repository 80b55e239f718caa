// Units of times for formats that state none.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TIME_UNIT_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TIME_UNIT_H_

#include <array>
#include <string_view>
#include <utility>

namespace planwright::client {

// In milliseconds.
inline constexpr std::array<std::pair<std::string_view, double>, 4> kTimeUnitsMs = {
    {{"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}}};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TIME_UNIT_H_
