// Rows that hold values of other types than their columns: SQLite keeps whatever is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/store/sql_store.h"
#include "tests/server/store/store_backend.h"
#include "tests/server/store/turns.h"

namespace planwright::server {
namespace {

constexpr std::chrono::milliseconds kDamagedLease{60'000};

class DamagedRowsTest : public testing::Test {
 protected:
  // A store with a row in each table.
  void SetUp() override {
    backend_ = MakeStoreBackend("sqlite");
    SqlStore store(backend_->Open(), /*migrate=*/false);
    ASSERT_TRUE(store.PutDocument("tenant", DocumentKind::kPlan, {"a", "summary", "content"}, Quota()).ok());
    ASSERT_TRUE(store.Claim("key", "owner", kDamagedLease).ok());
    ASSERT_TRUE(store.Submit("tenant", {{"a", "request"}, {{"a-0", "row"}}, "name"}, Quota()).ok());
    ASSERT_TRUE(store.Submit("other", {{"b", "request"}, {}, ""}, Quota()).ok());
  }

  absl::StatusOr<SqlResult> Execute(const std::string& sql, const std::vector<SqlValue>& parameters = {}) {
    absl::StatusOr<SqlResult> result;
    backend_->Open()
        ->Transact(Database::Access::kWrite,
                   [&](Connection& connection) {
                     result = connection.Execute(sql, parameters);
                     return result.status();
                   })
        .IgnoreError();
    return result;
  }

  std::vector<std::string> Strings(const std::string& sql) {
    return Execute(sql)->ReadAll<std::string>([](RowReader& row) { return row.Text(); }).value();
  }

  // Calls everything that reads; returns what is said of damage. Nothing else may come of it than answers, damage and
  // what such rows are not found as.
  std::vector<absl::Status> CallEverything() {
    SqlStore store(backend_->Open(), /*migrate=*/false);
    std::vector<absl::Status> damage;
    const auto note = [&damage](const absl::Status& status) {
      if (absl::IsDataLoss(status)) damage.push_back(status);
      EXPECT_FALSE(absl::IsInternal(status) || absl::IsUnknown(status)) << status;
    };
    note(store.Check());
    note(store.FindDocument("tenant", DocumentKind::kPlan, "a").status());
    note(store.ListDocuments("tenant", DocumentKind::kPlan, std::nullopt, 10).status());
    note(store.PutDocument("tenant", DocumentKind::kPlan, {"a", "", "content"}, Quota()).status());
    note(store.PutAnswer("", {"answer", "", "content"}, 1 << 20));
    note(store.Claim("key", "another", kDamagedLease).status());
    note(store.FindOperation("tenant", "a", OperationView::kFull).status());
    note(store.FindOperation("tenant", "a-0", OperationView::kFull).status());
    note(store.ListOperations("tenant", {}, std::nullopt, 10).status());
    note(store.ListRows("tenant", "a").status());
    note(store.Submit("tenant", {{"c", "request"}, {{"c-0", "row"}}, "name"}, Quota()).status());
    const auto taken = store.TakeOperation(kDamagedLease, &ByName);
    note(taken.status());
    if (taken.ok() && taken->has_value()) {
      note(store.RenewLease((*taken)->id, (*taken)->fence, kDamagedLease).status());
      note(store.EndOperation((*taken)->id, (*taken)->fence, {}));
    }
    note(store.RequestCancel("tenant", "a"));
    note(store.Sweep({}).status());
    return damage;
  }

  // Whether somebody else's job can still be had.
  bool OthersGetTheirTurn() {
    SqlStore store(backend_->Open(), /*migrate=*/false);
    for (int i = 0; i < 5; ++i) {
      const auto taken = store.TakeOperation(kDamagedLease, &ByName);
      if (taken.ok() && taken->has_value() && (*taken)->id == "b") return true;
    }
    return store.FindOperation("other", "b", OperationView::kShort)->attempts > 0;
  }

  std::unique_ptr<StoreBackend> backend_;
};

// Whatever stands in whichever column: it is said to be damage, by row and column, where it is read, and nothing else
// comes of it.
TEST_F(DamagedRowsTest, AWrongTypeInAnyColumnOfAnyTableIsDamage) {
  const std::vector<SqlValue> wrong = {std::string("text"), Bytes{"bytes"}, int64_t{-7}, std::monostate()};
  int columns = 0;
  for (const std::string& table :
       Strings("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")) {
    for (const std::string& column : Strings("SELECT name FROM pragma_table_info('" + table + "')")) {
      ++columns;
      for (const SqlValue& value : wrong) {
        SetUp();
        // One of several rows; refused where the column may not hold it.
        const auto written =
            Execute(absl::StrCat("UPDATE OR IGNORE ", table, " SET ", column,
                                 " = $1 WHERE rowid IN (SELECT MIN(rowid) FROM ", table, " GROUP BY 1)"),
                    {value});
        if (!written.ok()) continue;
        SCOPED_TRACE(absl::StrCat(table, ".", column, " holds alternative ", value.index()));
        for (const absl::Status& damage : CallEverything()) {
          EXPECT_TRUE(absl::StrContains(damage.message(), column) || absl::StrContains(damage.message(), table))
              << damage;
        }
        EXPECT_TRUE(table == "schema_version" || OthersGetTheirTurn());
      }
    }
  }
  EXPECT_GE(columns, 30);
}

TEST_F(DamagedRowsTest, NamesRowAndColumn) {
  ASSERT_TRUE(Execute("UPDATE documents SET summary = 12").ok());
  SqlStore store(backend_->Open(), /*migrate=*/false);
  const absl::Status found = store.FindDocument("tenant", DocumentKind::kPlan, "a").status();
  EXPECT_TRUE(absl::IsDataLoss(found)) << found;
  EXPECT_EQ(found.message(),
            "the store is damaged: column summary of row \"a\" holds a number instead of bytes; `planwrightd store "
            "check` finds all such rows");
  ASSERT_TRUE(Execute("UPDATE operations SET state = 'x' WHERE id = 'a'").ok());
  const absl::Status operation = store.FindOperation("tenant", "a", OperationView::kShort).status();
  EXPECT_TRUE(absl::IsDataLoss(operation)) << operation;
  EXPECT_TRUE(absl::StrContains(operation.message(), "column state of row \"a\" holds text")) << operation;
}

TEST_F(DamagedRowsTest, ASchemaVersionThatIsNoneIsDamage) {
  for (const char* version : {"'one'", "-1", "0", "x'00'"}) {
    ASSERT_TRUE(Execute(absl::StrCat("UPDATE schema_version SET version = ", version)).ok());
    for (const bool migrate : {false, true}) {
      const absl::Status status = SqlStore(backend_->Open(), migrate).Check();
      EXPECT_TRUE(absl::IsDataLoss(status)) << version << ": " << status;
    }
  }
}

}  // namespace
}  // namespace planwright::server
