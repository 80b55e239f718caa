// Whether a store is sound: everything that is in it is read.
#ifndef PLANWRIGHT_SERVER_STORE_STORE_CHECK_H_
#define PLANWRIGHT_SERVER_STORE_STORE_CHECK_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/store/database/database.h"
#include "server/store/database/store_tables.h"
#include "server/store/store.h"

namespace planwright::server {

struct StoreFinding {
  // "documents", "operations", "schema_version"; "(file)": the database itself.
  std::string table;
  // Its key, as far as it can be read.
  std::string row;
  std::string what;
};

// Whether the content of a document is what its kind says, to whoever knows messages.
using ContentCheck = std::function<bool(DocumentKind kind, const std::string& content)>;

// Reads everything, as it is at one moment: the file (of SQLite), the version of the schema, the type of every value,
// every checksum, and what rows refer to. At most `most` findings. Changes nothing; servers may work on it meanwhile.
// UNAVAILABLE: it cannot be read at all.
absl::StatusOr<std::vector<StoreFinding>> CheckStore(Database& database, const ContentCheck& check_content,
                                                     const StoreProgress& progress, std::size_t most = 1000);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_STORE_CHECK_H_
