#include "server/store/database/postgres_database.h"

#include <libpq-fe.h>
#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <pqxx/pqxx>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "server/store/database/store_status.h"

namespace planwright::server {
namespace {

// Times that others got in the way of a transaction before it is given up.
constexpr int kAttempts = 5;
// How soon a broken connection is noticed.
constexpr std::chrono::seconds kPatience{5};

// So that no call hangs on a database that has gone or is stuck.
constexpr std::string_view kConnectTimeout = "5";
constexpr std::string_view kTcpTimeout = "10000";
constexpr std::string_view kSessionOptions =
    "-c statement_timeout=10s -c lock_timeout=5s -c idle_in_transaction_session_timeout=30s";

// Type oids of pg_type.dat, which never change.
constexpr unsigned kByteaOid = 17;
constexpr unsigned kInt8Oid = 20;

constexpr int64_t kSchemaLock = 0x706C616E77726974;  // "planwrit"

constexpr char kMakeClock[] =
    "CREATE OR REPLACE FUNCTION planwright_now() RETURNS BIGINT LANGUAGE sql VOLATILE AS "
    "'SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)'";

// A parameter in PostgreSQL's text form; nullopt: NULL.
struct TextForm {
  std::optional<std::string> operator()(std::monostate) const { return std::nullopt; }
  std::optional<std::string> operator()(int64_t value) const { return absl::StrCat(value); }
  std::optional<std::string> operator()(const std::string& text) const { return text; }
  std::optional<std::string> operator()(const Bytes& bytes) const {
    return absl::StrCat("\\x", absl::BytesToHexString(bytes.data));
  }
};

SqlValue ValueOf(const pqxx::field& field) {
  if (field.is_null()) return std::monostate();
  const absl::string_view text(field.c_str(), field.size());
  switch (field.type()) {
    case kByteaOid:
      return Bytes{absl::HexStringToBytes(text.substr(2))};
    case kInt8Oid: {
      int64_t value = 0;
      // Always a number.
      static_cast<void>(absl::SimpleAtoi(text, &value));
      return value;
    }
    default:
      return std::string(text);
  }
}

// Whether the transaction would succeed if it were run again.
bool IsConflict(const std::string& sql_state) { return sql_state == "40001" || sql_state == "40P01"; }

absl::Status ErrorOf(const pqxx::sql_error& error) {
  const std::string& state = error.sqlstate();
  // A full disk.
  if (state == "53100") return StoreFull(error.what());
  // Conflicts, missing resources, an operator's intervention, a read-only or starting server, and what its system says.
  for (const char* prefix : {"40", "53", "57", "25006", "55P03", "58", "08"}) {
    if (state.starts_with(prefix)) return StoreUnavailable(error.what());
  }
  if (state.starts_with("XX")) return absl::DataLossError(absl::StrCat("the store is damaged: ", error.what()));
  return absl::InternalError(absl::StrCat("PostgreSQL: ", error.what(), " (", state, ")"));
}

// Breaks the connections of calls that get no answer: the server's own time limits do not help where it hangs itself.
// Thread-safe.
class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;

  Watchdog() : worker_([this](const std::stop_token& stop) { Work(stop); }) {}

  // Watches the connection `socket` while it lives: each answer is waited for anew.
  class Guard {
   public:
    Guard(Watchdog& watchdog, int socket) : watchdog_(watchdog), socket_(socket) {
      const std::lock_guard lock(watchdog_.mutex_);
      place_ = watchdog_.sockets_.emplace(Clock::now() + kMost, socket);
    }
    // Something else is asked now.
    void Renew() {
      const std::lock_guard lock(watchdog_.mutex_);
      watchdog_.sockets_.erase(place_);
      place_ = watchdog_.sockets_.emplace(Clock::now() + kMost, socket_);
    }
    ~Guard() {
      const std::lock_guard lock(watchdog_.mutex_);
      watchdog_.sockets_.erase(place_);
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Watchdog& watchdog_;
    const int socket_;
    std::multimap<Clock::time_point, int>::iterator place_;
  };

 private:
  // Longer than the server's own limits, which have better messages.
  static constexpr std::chrono::seconds kMost{15};

  void Work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      const Clock::time_point now = Clock::now();
      for (auto overdue = sockets_.begin(); overdue != sockets_.end() && overdue->first <= now; ++overdue) {
        // libpq reads the end of the stream and gives the connection up.
        shutdown(overdue->second, SHUT_RDWR);
      }
      changed_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by mutex_. Sockets of the calls under way by when they are overdue.
  std::multimap<Clock::time_point, int> sockets_;
  // Last: uses the above.
  std::jthread worker_;
};

class PostgresConnection final : public Connection {
 public:
  PostgresConnection(pqxx::transaction_base& transaction, Watchdog::Guard& guard)
      : transaction_(transaction), guard_(guard) {}

  using Connection::Execute;
  // Errors of PostgreSQL leave as exceptions, which Transact catches.
  absl::StatusOr<SqlResult> Execute(std::string_view sql, std::span<const SqlValue> parameters) override {
    guard_.Renew();
    std::vector<std::optional<std::string>> texts;
    std::vector<const char*> pointers;
    texts.reserve(parameters.size());
    for (const SqlValue& parameter : parameters) {
      const std::optional<std::string>& text = texts.emplace_back(std::visit(TextForm(), parameter));
      pointers.push_back(text.has_value() ? text->c_str() : nullptr);
    }
    const pqxx::result rows = transaction_.exec_params(std::string(sql), pqxx::prepare::make_dynamic_params(pointers));
    std::vector<std::string> columns;
    columns.reserve(static_cast<std::size_t>(rows.columns()));
    for (pqxx::row_size_type column = 0; column < rows.columns(); ++column) {
      columns.emplace_back(rows.column_name(column));
    }
    SqlResult result(std::move(columns));
    for (const pqxx::row& row : rows) {
      SqlRow values;
      for (const pqxx::field& field : row) values.push_back(ValueOf(field));
      result.Add(std::move(values));
    }
    result.set_affected(static_cast<int64_t>(rows.affected_rows()));
    return result;
  }

 private:
  pqxx::transaction_base& transaction_;
  Watchdog::Guard& guard_;
};

class PostgresDatabase final : public Database {
 public:
  explicit PostgresDatabase(std::string conninfo) : conninfo_(std::move(conninfo)) {}

  std::string_view kind() const override { return "postgresql"; }
  std::string_view skip_locked_clause() const override { return " FOR UPDATE SKIP LOCKED"; }
  std::string_view lock_clause() const override { return " FOR UPDATE"; }

  absl::Status Transact(Access access, const std::function<absl::Status(Connection&)>& body) override {
    absl::Status status;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      bool again = false;
      status = TransactOnce(access, body, again);
      if (!again) break;
    }
    return status;
  }

  absl::Status LockName(Connection& connection, std::string_view name) override {
    return connection.Execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", {std::string(name)}).status();
  }

  // Its disk is another machine's.
  std::optional<Room> room() const override { return std::nullopt; }
  std::string_view size_query() const override { return "SELECT pg_database_size(current_database())"; }
  void Maintain() override {}

  absl::Status LockSchema(Connection& connection) override {
    RETURN_IF_ERROR(connection.Execute("SELECT pg_advisory_xact_lock($1)", {kSchemaLock}).status());
    return connection.Execute(kMakeClock).status();
  }

 private:
  using Handle = std::unique_ptr<pqxx::connection>;

  // `again`: another attempt may well succeed.
  absl::Status TransactOnce(Access access, const std::function<absl::Status(Connection&)>& body, bool& again) {
    bool is_fresh = false;
    const Watchdog::Clock::time_point start = Watchdog::Clock::now();
    try {
      Handle handle = Take(is_fresh);
      Watchdog::Guard guard(watchdog_, handle->sock());
      absl::Status status = Run(*handle, guard, access, body);
      Return(std::move(handle));
      return status;
    } catch (const pqxx::in_doubt_error& error) {
      return StoreUnavailable(error.what());
    } catch (const pqxx::broken_connection& error) {
      // A connection that has been idle may have been closed long ago; a new one says how things are. After a long
      // silence it is not the connection.
      again = !is_fresh && Watchdog::Clock::now() - start < kPatience;
      // A server that was started anew has closed all of them.
      DropIdle();
      return StoreUnavailable(error.what());
    } catch (const pqxx::sql_error& error) {
      again = IsConflict(error.sqlstate());
      return ErrorOf(error);
    } catch (const pqxx::failure& error) {
      return StoreUnavailable(error.what());
    }
  }

  static absl::Status Run(pqxx::connection& handle, Watchdog::Guard& guard, Access access,
                          const std::function<absl::Status(Connection&)>& body) {
    pqxx::work transaction(handle);
    PostgresConnection connection(transaction, guard);
    if (access == Access::kRead) transaction.exec("SET TRANSACTION READ ONLY");
    if (access == Access::kSnapshot) transaction.exec("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY");
    absl::Status status = body(connection);
    guard.Renew();
    if (status.ok()) transaction.commit();
    return status;
  }

  Handle Take(bool& is_fresh) {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        Handle handle = std::move(idle_.back());
        idle_.pop_back();
        return handle;
      }
    }
    is_fresh = true;
    return std::make_unique<pqxx::connection>(conninfo_);
  }

  void Return(Handle handle) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(handle));
  }

  void DropIdle() {
    std::vector<Handle> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(idle_);
  }

  const std::string conninfo_;
  Watchdog watchdog_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<Handle> idle_;
};

// A default for libpq's option `name` where `conninfo` does not set it.
void AddDefault(std::string_view name, std::string_view value, std::string& conninfo) {
  if (conninfo.find(std::string(name) + "=") != std::string::npos) return;
  const bool is_uri = conninfo.starts_with("postgresql://") || conninfo.starts_with("postgres://");
  if (!is_uri) {
    absl::StrAppend(&conninfo, " ", ToAbsl(name), "='", ToAbsl(value), "'");
    return;
  }
  const char* separator = conninfo.find('?') == std::string::npos ? "?" : "&";
  const std::string escaped = absl::StrReplaceAll(ToAbsl(value), {{" ", "%20"}, {"=", "%3D"}});
  absl::StrAppend(&conninfo, separator, ToAbsl(name), "=", escaped);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Database>> OpenPostgres(const std::string& conninfo) {
  PQconninfoOption* options = PQconninfoParse(conninfo.c_str(), /*errmsg=*/nullptr);
  if (options == nullptr) {
    // What libpq says repeats parts of it, the password perhaps.
    return absl::InvalidArgumentError(
        "libpq does not understand it: postgresql://USER@HOST:PORT/DATABASE or postgresql:host=... dbname=...");
  }
  PQconninfoFree(options);
  std::string complete = conninfo;
  AddDefault("connect_timeout", kConnectTimeout, complete);
  AddDefault("tcp_user_timeout", kTcpTimeout, complete);
  AddDefault("options", kSessionOptions, complete);
  AddDefault("application_name", "planwrightd", complete);
  return std::make_unique<PostgresDatabase>(std::move(complete));
}

}  // namespace planwright::server
