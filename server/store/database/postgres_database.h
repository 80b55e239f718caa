// PostgreSQL: one database for several servers.
#ifndef PLANWRIGHT_SERVER_STORE_DATABASE_POSTGRES_DATABASE_H_
#define PLANWRIGHT_SERVER_STORE_DATABASE_POSTGRES_DATABASE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/store/database/database.h"

namespace planwright::server {

// `conninfo`: as libpq takes it, a URI or "host=... dbname=..."; what it leaves out comes from the environment (PGHOST,
// PGPASSWORD, PGPASSFILE ...). Connects when it is first used and again whenever the connection has broken, so the
// server may come and go. INVALID_ARGUMENT: libpq does not understand it.
absl::StatusOr<std::unique_ptr<Database>> OpenPostgres(const std::string& conninfo);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_DATABASE_POSTGRES_DATABASE_H_
