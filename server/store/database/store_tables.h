// The tables of a store as whoever copies or checks all of it sees them.
#ifndef PLANWRIGHT_SERVER_STORE_DATABASE_STORE_TABLES_H_
#define PLANWRIGHT_SERVER_STORE_DATABASE_STORE_TABLES_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/database/database.h"

namespace planwright::server {

struct StoreTable {
  std::string_view name;
  std::vector<std::string_view> columns;
  // The first so many columns are the key.
  std::size_t key = 1;
};

// The tables of this release's schema, but for claims, which are nobody's beyond a few seconds.
std::span<const StoreTable> StoreTables();

// Told how far something is, now and then: rows of `table`, of how many.
using StoreProgress = std::function<void(std::string_view table, int64_t done, int64_t all)>;

// Hands all rows of `table` to `visit`, some at a time, in the order of their keys; the first error of `visit` ends it
// and is returned.
absl::Status VisitRows(Connection& connection, const StoreTable& table, const StoreProgress& progress,
                       const std::function<absl::Status(const SqlResult& rows)>& visit);

absl::StatusOr<int64_t> CountRows(Connection& connection, std::string_view table);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_DATABASE_STORE_TABLES_H_
