// A relational database, as little of it as the store needs.
//
// SqlStore says everything in the SQL that SQLite and PostgreSQL have in common; what differs is here: connections,
// transactions, the text of one clause, and the clock, which both offer as the SQL function planwright_now().
#ifndef PLANWRIGHT_SERVER_STORE_DATABASE_H_
#define PLANWRIGHT_SERVER_STORE_DATABASE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace planwright::server {

// A value of a column of type BYTEA.
struct Bytes {
  std::string data;
};

// NULL, BIGINT, TEXT or BYTEA.
using SqlValue = std::variant<std::monostate, int64_t, std::string, Bytes>;
using SqlRow = std::vector<SqlValue>;

struct SqlResult {
  std::vector<SqlRow> rows;
  // Rows that were inserted, updated or deleted.
  int64_t affected = 0;
};

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
  enum class Access { kRead, kWrite };

  virtual ~Database() = default;

  virtual std::string_view kind() const = 0;

  // Ends a SELECT of rows that this transaction is to have for itself, without those that others have; nothing where a
  // writer is alone anyway.
  virtual std::string_view skip_locked_clause() const = 0;
  // The same, but it waits for others.
  virtual std::string_view lock_clause() const = 0;

  // Runs `body` in a transaction: what it wrote is kept if it returns OK, else nothing of it. A transaction that others
  // got in the way of is run again, so `body` must be able to run several times. Writers see what all before them
  // wrote.
  virtual absl::Status Transact(Access access, const std::function<absl::Status(Connection&)>& body) = 0;

  // Makes this transaction the only one that may change the schema, and planwright_now() known.
  virtual absl::Status LockSchema(Connection& connection) = 0;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_DATABASE_H_
