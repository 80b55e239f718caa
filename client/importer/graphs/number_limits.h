// The numbers that a graph of a file may have.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_NUMBER_LIMITS_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_NUMBER_LIMITS_H_

#include <cstdint>
#include <limits>

namespace planwright::client {

// Whole numbers between its negative and itself: all that the reader takes.
inline constexpr int64_t kAnyInteger = std::numeric_limits<int64_t>::max();
// Beyond this a double no longer fits an int64 of bytes that may be added up.
inline constexpr double kMaxBytes = 4611686018427387904.0;  // 2^62

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_NUMBER_LIMITS_H_
