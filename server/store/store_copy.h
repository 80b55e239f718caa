// Stores copied as a whole, from either kind to either kind: an SQLite file is the backup of both.
#ifndef PLANWRIGHT_SERVER_STORE_STORE_COPY_H_
#define PLANWRIGHT_SERVER_STORE_STORE_COPY_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/database/database.h"
#include "server/store/database/store_tables.h"

namespace planwright::server {

enum class CopyKind {
  // Row by row as they are.
  kBackup,
  // What was running is queued again under a number of its own, so that whoever worked on it before cannot end it.
  kRestore,
};

// Copies everything from `from`, as it is at one moment, to `to`, in one transaction. Servers may work on `from`
// meanwhile. Returns how many rows. `replaces`: what is in `to` goes. FAILED_PRECONDITION: `from` has another schema
// than this release, or `to` is not empty.
absl::StatusOr<int64_t> CopyStore(Database& from, Database& to, CopyKind kind, bool replaces,
                                  const StoreProgress& progress);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_STORE_COPY_H_
