// A relational database, as little of it as the store needs.
//
// SqlStore says everything in the SQL that SQLite and PostgreSQL have in common; what differs is here: connections,
// transactions, the text of one clause, and the clock, which both offer as the SQL function planwright_now().
#ifndef PLANWRIGHT_SERVER_STORE_DATABASE_DATABASE_H_
#define PLANWRIGHT_SERVER_STORE_DATABASE_DATABASE_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/database/sql_result.h"

namespace planwright::server {

// A transaction's view of the database. Used by one thread.
class Connection {
 public:
  virtual ~Connection() = default;

  // Runs one statement; $1, $2, ... stand for `parameters`. Times come from planwright_now(). Errors: as Store's.
  virtual absl::StatusOr<SqlResult> Execute(std::string_view sql, std::span<const SqlValue> parameters) = 0;

  absl::StatusOr<SqlResult> Execute(std::string_view sql, std::initializer_list<SqlValue> parameters = {}) {
    return Execute(sql, std::span<const SqlValue>(parameters.begin(), parameters.size()));
  }
};

// Thread-safe.
class Database {
 public:
  enum class Access {
    kRead,
    // As kRead, and all statements see the database as it was at the first one.
    kSnapshot,
    kWrite,
    // A write that makes room: it may use what is held in reserve for a full disk.
    kFree,
  };

  // How much room the disk has that the database is on.
  struct Room {
    int64_t free_bytes = 0;
    int64_t total_bytes = 0;
  };

  virtual ~Database() = default;

  virtual std::string_view kind() const = 0;

  // Ends a SELECT of rows that this transaction is to have for itself, without those that others have; nothing where a
  // writer is alone anyway.
  virtual std::string_view skip_locked_clause() const = 0;
  // Ends such a SELECT, but it waits for others.
  virtual std::string_view lock_clause() const = 0;

  // Runs `body` in a transaction: what it wrote is kept if it returns OK, else nothing of it. A transaction that others
  // got in the way of is run again, so `body` must be able to run several times. Writers see what all before them
  // wrote.
  virtual absl::Status Transact(Access access, const std::function<absl::Status(Connection&)>& body) = 0;

  // Lets one transaction after the other have `name`, each until it ends; nothing where a writer is alone anyway.
  virtual absl::Status LockName(Connection& connection, std::string_view name) = 0;

  // nullopt: it is not known here.
  virtual std::optional<Room> room() const = 0;
  // A SELECT of one number, the bytes that the database takes.
  virtual std::string_view size_query() const = 0;

  // Sees to what is held in reserve for a full disk.
  virtual void Maintain() = 0;

  // Makes this transaction the only one that may change the schema, and planwright_now() known.
  virtual absl::Status LockSchema(Connection& connection) = 0;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_DATABASE_DATABASE_H_
