// SQLite: one file, for one machine. Several processes may share it.
#ifndef PLANWRIGHT_SERVER_STORE_DATABASE_SQLITE_DATABASE_H_
#define PLANWRIGHT_SERVER_STORE_DATABASE_SQLITE_DATABASE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/store/database/database.h"

namespace planwright::server {

// Milliseconds since 1970 of this machine.
int64_t SystemMilliseconds();

// Opens or makes the file `path`, in WAL mode: readers and one writer do not wait for each other, and what was
// committed survives a crash of process and machine. `now`: what planwright_now() returns. UNAVAILABLE: it cannot be
// opened and written; its folder must exist.
//
// With `holds_reserve` a file beside it holds room for the day when the disk is full, and a disk that is full just now
// is no error.
absl::StatusOr<std::unique_ptr<Database>> OpenSqlite(const std::string& path,
                                                     std::function<int64_t()> now = &SystemMilliseconds,
                                                     bool holds_reserve = true);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_DATABASE_SQLITE_DATABASE_H_
