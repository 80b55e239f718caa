#include "tests/server/store/store_backend.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/store/database/sqlite_database.h"
#include "tests/support/private_postgres.h"
#ifdef PLANWRIGHT_POSTGRESQL
#include "server/store/database/postgres_database.h"
#endif

namespace planwright::server {
namespace {

class SqliteBackend final : public StoreBackend {
 public:
  SqliteBackend() {
    static int count = 0;
    folder_ = std::filesystem::path(testing::TempDir()) / absl::StrCat("store-", getpid(), "-", ++count);
    std::filesystem::create_directories(folder_);
  }
  ~SqliteBackend() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Database> Open() override {
    return OpenSqlite((folder_ / "store.db").string(), [this] { return SystemMilliseconds() + offset_; }).value();
  }
  void AdvanceClock(int64_t milliseconds) override { offset_ += milliseconds; }

 private:
  std::filesystem::path folder_;
  std::atomic<int64_t> offset_{0};
};

#ifdef PLANWRIGHT_POSTGRESQL

// One server for the whole program.
PrivatePostgres& Server() {
  static PrivatePostgres server;
  return server;
}

class PostgresBackend final : public StoreBackend {
 public:
  std::unique_ptr<Database> Open() override { return OpenPostgres(conninfo_).value(); }

  void AdvanceClock(int64_t milliseconds) override {
    offset_ += milliseconds;
    const std::string sql = absl::StrCat(
        "CREATE OR REPLACE FUNCTION planwright_now() RETURNS BIGINT LANGUAGE sql VOLATILE AS 'SELECT "
        "CAST(extract(epoch "
        "FROM clock_timestamp()) * 1000 AS BIGINT) + ",
        offset_, "'");
    const absl::Status status = Open()->Transact(
        Database::Access::kWrite, [&](Connection& connection) { return connection.Execute(sql).status(); });
    EXPECT_TRUE(status.ok()) << status;
  }

 private:
  const std::string conninfo_ = Server().MakeDatabase();
  int64_t offset_ = 0;
};

#endif

}  // namespace

std::unique_ptr<StoreBackend> MakeStoreBackend(const std::string& kind) {
  if (kind == "sqlite") return std::make_unique<SqliteBackend>();
#ifdef PLANWRIGHT_POSTGRESQL
  if (PrivatePostgres::IsInstalled()) return std::make_unique<PostgresBackend>();
#endif
  return nullptr;
}

}  // namespace planwright::server
