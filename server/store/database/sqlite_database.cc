#include "server/store/database/sqlite_database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/store/database/disk_reserve.h"
#include "server/store/database/store_status.h"

namespace planwright::server {
namespace {

// How long a statement waits for another process or connection that writes.
constexpr int kBusyTimeoutMs = 5000;

// Whether an error came from a call of the operating system, which says more.
bool IsOfSystem(int code) { return (code & 0xFF) == SQLITE_IOERR || (code & 0xFF) == SQLITE_CANTOPEN; }

absl::Status ErrorOf(sqlite3* handle, int code) {
  const char* message = handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(code);
  const bool lacks_room = handle != nullptr && sqlite3_system_errno(handle) == ENOSPC;
  if ((code & 0xFF) == SQLITE_FULL || (lacks_room && IsOfSystem(code))) return StoreFull(message);
  switch (code & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(absl::StrCat("the store is damaged: ", message));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_NOMEM:
      return StoreUnavailable(message);
    default:
      return absl::InternalError(absl::StrCat("SQLite: ", message));
  }
}

using StatementHandle = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

struct Binder {
  sqlite3_stmt* statement;
  int index;

  int operator()(std::monostate) const { return sqlite3_bind_null(statement, index); }
  int operator()(int64_t value) const { return sqlite3_bind_int64(statement, index, value); }
  int operator()(const std::string& text) const {
    return sqlite3_bind_text64(statement, index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  int operator()(const Bytes& bytes) const {
    // A null pointer would be NULL.
    const char* data = bytes.data.empty() ? "" : bytes.data.data();
    return sqlite3_bind_blob64(statement, index, data, bytes.data.size(), SQLITE_STATIC);
  }
};

std::string TextOf(const void* data, int size) {
  return size == 0 ? std::string() : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

SqlValue ColumnOf(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_TEXT:
      return TextOf(sqlite3_column_text(statement, column), sqlite3_column_bytes(statement, column));
    case SQLITE_BLOB:
      return Bytes{TextOf(sqlite3_column_blob(statement, column), sqlite3_column_bytes(statement, column))};
    default:
      return std::monostate();
  }
}

std::vector<std::string> ColumnNames(sqlite3_stmt* statement) {
  std::vector<std::string> names;
  const int count = sqlite3_column_count(statement);
  names.reserve(static_cast<std::size_t>(count));
  for (int column = 0; column < count; ++column) {
    names.emplace_back(sqlite3_column_name(statement, column));
  }
  return names;
}

// A new file that nobody else may read, as SQLite then makes those beside it. One that is there stays as it is,
// unopened: closing it would give up the locks that this process has on it. Errors are left to SQLite, which meets them
// too.
void CreateForOwner(const std::string& path) {
  const int file = open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file >= 0) close(file);
}

class SqliteConnection final : public Connection {
 public:
  // `now` outlives the connection.
  static absl::StatusOr<std::unique_ptr<SqliteConnection>> Open(const std::string& path,
                                                                const std::function<int64_t()>& now) {
    CreateForOwner(path);
    sqlite3* handle = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &handle,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    std::unique_ptr<SqliteConnection> connection(new SqliteConnection(handle));
    if (code != SQLITE_OK) return ErrorOf(handle, code);
    RETURN_IF_ERROR(connection->Prepare(now));
    return connection;
  }

  ~SqliteConnection() override { sqlite3_close(handle_); }
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  using Connection::Execute;
  absl::StatusOr<SqlResult> Execute(std::string_view sql, std::span<const SqlValue> parameters) override {
    sqlite3_stmt* raw = nullptr;
    const int prepared = sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
    const StatementHandle statement(raw, &sqlite3_finalize);
    if (prepared != SQLITE_OK) return ErrorOf(handle_, prepared);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const int index = sqlite3_bind_parameter_index(raw, absl::StrCat("$", i + 1).c_str());
      const int bound = std::visit(Binder{raw, index}, parameters[i]);
      if (bound != SQLITE_OK) return ErrorOf(handle_, bound);
    }
    SqlResult result(ColumnNames(raw));
    int step = sqlite3_step(raw);
    for (; step == SQLITE_ROW; step = sqlite3_step(raw)) {
      SqlRow row;
      for (int column = 0; column < sqlite3_column_count(raw); ++column) row.push_back(ColumnOf(raw, column));
      result.Add(std::move(row));
    }
    if (step != SQLITE_DONE) {
      is_read_only_ = is_read_only_ || (step & 0xFF) == SQLITE_READONLY;
      return ErrorOf(handle_, step);
    }
    result.set_affected(sqlite3_changes64(handle_));
    return result;
  }

  // Waits for nobody; that it could not be done is no error.
  void ShortenLog() {
    sqlite3_busy_timeout(handle_, 0);
    sqlite3_wal_checkpoint_v2(handle_, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
    sqlite3_busy_timeout(handle_, kBusyTimeoutMs);
  }

  // A connection that has met a database that was read-only takes it for one for ever.
  bool is_read_only() const { return is_read_only_; }

 private:
  explicit SqliteConnection(sqlite3* handle) : handle_(handle) {}

  static void Now(sqlite3_context* context, int /*arguments*/, sqlite3_value** /*values*/) {
    const auto& now = *static_cast<const std::function<int64_t()>*>(sqlite3_user_data(context));
    sqlite3_result_int64(context, now());
  }

  absl::Status Prepare(const std::function<int64_t()>& now) {
    sqlite3_extended_result_codes(handle_, 1);
    sqlite3_busy_timeout(handle_, kBusyTimeoutMs);
    // SQLite wants a pointer that it could write through; Now does not.
    void* clock = const_cast<std::function<int64_t()>*>(&now);
    const int added = sqlite3_create_function(handle_, "planwright_now", 0, SQLITE_UTF8, clock, &Now, nullptr, nullptr);
    if (added != SQLITE_OK) return ErrorOf(handle_, added);
    RETURN_IF_ERROR(SwitchToWal());
    // Every commit reaches the disk: an operation that was accepted is never lost.
    return Execute("PRAGMA synchronous = FULL").status();
  }

  // The switch does not wait for others that open a new file at the same time, whatever the timeout.
  absl::Status SwitchToWal() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kBusyTimeoutMs);
    while (true) {
      const absl::Status status = Execute("PRAGMA journal_mode = WAL").status();
      const bool is_busy = (sqlite3_errcode(handle_) & 0xff) == SQLITE_BUSY;
      if (status.ok() || !is_busy || std::chrono::steady_clock::now() >= deadline) return status;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  sqlite3* handle_;
  bool is_read_only_ = false;
};

// A connection for every thread that works on the database at the same time; they are kept for the next ones.
class SqliteDatabase final : public Database {
 public:
  SqliteDatabase(std::string path, std::function<int64_t()> now)
      : path_(std::move(path)), now_(std::move(now)), reserve_(path_ + "-reserve") {}

  std::string_view kind() const override { return "sqlite"; }
  std::string_view skip_locked_clause() const override { return ""; }
  std::string_view lock_clause() const override { return ""; }

  absl::Status Transact(Access access, const std::function<absl::Status(Connection&)>& body) override {
    absl::Status status = TransactOnce(access, body);
    if (!IsStoreFull(status)) return status;
    // What did not fit may have left its pages in the log.
    ShortenLog();
    if (access != Access::kFree) return status;
    const int64_t reserved = reserve_.GiveUp();
    status = TransactOnce(access, body);
    // The log's pages go into those of the file that they are about, which takes no room.
    ShortenLog();
    reserve_.HoldAgain(reserved);
    return status;
  }

  // A writer is alone.
  absl::Status LockName(Connection& /*connection*/, std::string_view /*name*/) override { return absl::OkStatus(); }

  std::optional<Room> room() const override { return RoomAt(path_); }
  std::string_view size_query() const override {
    return "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
  }
  void Maintain() override { reserve_.Hold(); }

  // A writer is alone, and the clock came with the connection.
  absl::Status LockSchema(Connection& /*connection*/) override { return absl::OkStatus(); }

 private:
  absl::Status TransactOnce(Access access, const std::function<absl::Status(Connection&)>& body) {
    const bool writes = access == Access::kWrite || access == Access::kFree;
    ASSIGN_OR_RETURN(std::unique_ptr<SqliteConnection> connection, Take());
    RETURN_IF_ERROR(connection->Execute(writes ? "BEGIN IMMEDIATE" : "BEGIN").status());
    absl::Status status = body(*connection);
    if (status.ok()) status = connection->Execute("COMMIT").status();
    // Fails where the error has rolled back already.
    if (!status.ok()) connection->Execute("ROLLBACK").status().IgnoreError();
    if (!connection->is_read_only()) Return(std::move(connection));
    return status;
  }

  // Moves what the log holds into the file and gives its room back, unless somebody needs it just now.
  void ShortenLog() {
    absl::StatusOr<std::unique_ptr<SqliteConnection>> connection = Take();
    if (!connection.ok()) return;
    (*connection)->ShortenLog();
    Return(*std::move(connection));
  }

  absl::StatusOr<std::unique_ptr<SqliteConnection>> Take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<SqliteConnection> connection = std::move(idle_.back());
        idle_.pop_back();
        return connection;
      }
    }
    return SqliteConnection::Open(path_, now_);
  }

  void Return(std::unique_ptr<SqliteConnection> connection) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
  }

  const std::string path_;
  const std::function<int64_t()> now_;
  const DiskReserve reserve_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<std::unique_ptr<SqliteConnection>> idle_;
};

}  // namespace

int64_t SystemMilliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

absl::StatusOr<std::unique_ptr<Database>> OpenSqlite(const std::string& path, std::function<int64_t()> now,
                                                     bool holds_reserve) {
  auto database = std::make_unique<SqliteDatabase>(path, std::move(now));
  // SQLite opens what it may only read; that is found out now, not with the first row that is to be stored.
  const auto write = [](Connection& connection) { return connection.Execute("PRAGMA user_version = 1").status(); };
  const absl::Status written = database->Transact(Database::Access::kFree, write);
  // There may be room again later, and what is there can be read.
  if (!written.ok() && !(holds_reserve && IsStoreFull(written))) return written;
  if (holds_reserve) database->Maintain();
  return database;
}

}  // namespace planwright::server
