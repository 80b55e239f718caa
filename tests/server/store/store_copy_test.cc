#include "server/store/store_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/store/database/sqlite_database.h"
#include "server/store/sql_store.h"
#include "server/store/store_check.h"
#include "tests/server/store/store_backend.h"
#include "tests/server/store/turns.h"

namespace planwright::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::chrono::milliseconds kCopyLease{60'000};

void Ignore(std::string_view /*table*/, int64_t /*done*/, int64_t /*all*/) {}
bool IsContent(DocumentKind /*kind*/, const std::string& content) { return content != "no message"; }

// From one kind of store, by a backup, to another kind.
class StoreCopyTest : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override {
    from_ = MakeStoreBackend(std::get<0>(GetParam()));
    to_ = MakeStoreBackend(std::get<1>(GetParam()));
    if (from_ == nullptr || to_ == nullptr) GTEST_SKIP() << "no PostgreSQL here";
    std::filesystem::remove(backup_);
    store_ = std::make_unique<SqlStore>(from_->Open(), /*migrate=*/false);
    // More rows than are copied at a time.
    for (int i = 0; i < 40; ++i) {
      const Document document{absl::StrCat("plan", i), std::string("\0\xff", 2), std::string(5000, 'x')};
      ASSERT_TRUE(store_->PutDocument("tenant", DocumentKind::kPlan, document, Quota()).ok());
    }
    ASSERT_TRUE(store_->Submit("tenant", {{"sweep", "grid"}, {{"row-0", "a"}, {"row-1", "b"}}, "name"}, Quota()).ok());
    ASSERT_TRUE(store_->Sweep({}).ok());
  }
  void TearDown() override { std::filesystem::remove(backup_); }

  std::unique_ptr<Database> Backup() {
    return OpenSqlite(backup_, &SystemMilliseconds, /*holds_reserve=*/false).value();
  }

  const std::string backup_ = absl::StrCat(testing::TempDir(), "/store-copy-", getpid(), ".db");
  std::unique_ptr<StoreBackend> from_;
  std::unique_ptr<StoreBackend> to_;
  std::unique_ptr<SqlStore> store_;
};

TEST_P(StoreCopyTest, WhatIsBackedUpIsThereAgain) {
  const auto running = store_->TakeOperation(kCopyLease, &ByName).value();
  ASSERT_TRUE(store_->SaveIncumbent(running->id, running->fence, "best", "12 ms").ok());
  const auto backed_up = CopyStore(*from_->Open(), *Backup(), CopyKind::kBackup, /*replaces=*/false, &Ignore);
  EXPECT_EQ(backed_up.value(), 43) << backed_up.status();
  EXPECT_THAT(CheckStore(*Backup(), &IsContent, &Ignore).value(), IsEmpty());
  const auto restored = CopyStore(*Backup(), *to_->Open(), CopyKind::kRestore, /*replaces=*/false, &Ignore);
  EXPECT_EQ(restored.value(), 43) << restored.status();
  SqlStore store(to_->Open(), /*migrate=*/false);
  for (int i = 0; i < 40; ++i) {
    const auto plan = store.FindDocument("tenant", DocumentKind::kPlan, absl::StrCat("plan", i));
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->content, std::string(5000, 'x'));
    EXPECT_EQ(plan->summary, std::string("\0\xff", 2));
  }
  // What ran is to be had again, and whoever had it cannot end it.
  EXPECT_TRUE(absl::IsAborted(store.EndOperation(running->id, running->fence, {})));
  const auto taken = store.TakeOperation(kCopyLease, &ByName).value();
  EXPECT_EQ(taken->id, "row-0");
  EXPECT_EQ(taken->incumbent, "best");
  EXPECT_EQ(store.FindOperation("tenant", "sweep", OperationView::kFull)->request, "grid");
  EXPECT_THAT(CheckStore(*to_->Open(), &IsContent, &Ignore).value(), IsEmpty());
}

TEST_P(StoreCopyTest, FillsAStoreThatIsNotEmptyOnlyWhenTold) {
  SqlStore store(to_->Open(), /*migrate=*/false);
  ASSERT_TRUE(store.PutDocument("other", DocumentKind::kGraph, {"graph", "", "content"}, Quota()).ok());
  const auto refused = CopyStore(*from_->Open(), *to_->Open(), CopyKind::kRestore, /*replaces=*/false, &Ignore);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_TRUE(store.FindDocument("other", DocumentKind::kGraph, "graph").ok());
  EXPECT_EQ(store.FindDocument("tenant", DocumentKind::kPlan, "plan0").status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(CopyStore(*from_->Open(), *to_->Open(), CopyKind::kRestore, /*replaces=*/true, &Ignore).ok());
  EXPECT_FALSE(store.FindDocument("other", DocumentKind::kGraph, "graph").ok());
  EXPECT_TRUE(store.FindDocument("tenant", DocumentKind::kPlan, "plan0").ok());
}

TEST_P(StoreCopyTest, ABackupOfLongAgoIsNotOld) {
  ASSERT_TRUE(CopyStore(*from_->Open(), *to_->Open(), CopyKind::kRestore, /*replaces=*/false, &Ignore).ok());
  to_->AdvanceClock(int64_t{400} * 24 * 3600 * 1000);
  SqlStore store(to_->Open(), /*migrate=*/false);
  EXPECT_EQ(store.Sweep({}).value(), 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, StoreCopyTest,
                         testing::Values(std::make_tuple("sqlite", "sqlite"), std::make_tuple("sqlite", "postgresql"),
                                         std::make_tuple("postgresql", "sqlite")));

class StoreCheckTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    backend_ = MakeStoreBackend(GetParam());
    if (backend_ == nullptr) GTEST_SKIP() << "no PostgreSQL here";
    store_ = std::make_unique<SqlStore>(backend_->Open(), /*migrate=*/false);
    for (const char* id : {"a", "b"}) {
      ASSERT_TRUE(store_->PutDocument("tenant", DocumentKind::kPlan, {id, "", "content"}, Quota()).ok());
    }
    ASSERT_TRUE(store_->Submit("tenant", {{"sweep", "grid"}, {{"row", "request"}}, ""}, Quota()).ok());
  }

  // Changes the database, and returns what the check finds: "<table> <row>: <what>".
  std::vector<std::string> FindingsAfter(const std::string& sql) {
    const absl::Status done = backend_->Open()->Transact(
        Database::Access::kWrite, [&](Connection& connection) { return connection.Execute(sql).status(); });
    EXPECT_TRUE(done.ok()) << done;
    std::vector<std::string> findings;
    const auto found = CheckStore(*backend_->Open(), &IsContent, &Ignore);
    EXPECT_TRUE(found.ok()) << found.status();
    for (const StoreFinding& finding : found.value_or(std::vector<StoreFinding>())) {
      findings.push_back(absl::StrCat(finding.table, " ", finding.row, ": ", finding.what));
    }
    return findings;
  }

  std::unique_ptr<StoreBackend> backend_;
  std::unique_ptr<SqlStore> store_;
};

TEST_P(StoreCheckTest, FindsWhatIsDamaged) {
  EXPECT_THAT(FindingsAfter("UPDATE claims SET owner = owner"), IsEmpty());
  EXPECT_THAT(FindingsAfter("UPDATE documents SET content = summary WHERE id = 'a'"),
              ElementsAre("documents tenant/1/a: content does not match its checksum"));
  EXPECT_THAT(FindingsAfter("UPDATE documents SET kind = 9 WHERE id = 'a'"), testing::SizeIs(1));
  EXPECT_THAT(FindingsAfter("DELETE FROM documents WHERE id = 'a'"), IsEmpty());
  EXPECT_THAT(FindingsAfter("UPDATE documents SET stored_bytes = 7 WHERE id = 'b'"),
              ElementsAre("documents tenant/1/b: stored_bytes is not its size"));
  EXPECT_THAT(FindingsAfter("DELETE FROM documents"), IsEmpty());
  EXPECT_THAT(FindingsAfter("UPDATE operations SET state = 3 WHERE id = 'row'"),
              ElementsAre("operations sweep: has not ended, but all of its rows have"));
  EXPECT_THAT(FindingsAfter("UPDATE operations SET state = 9 WHERE id = 'row'"),
              testing::Contains("operations row: state is none that this release knows"));
  EXPECT_THAT(FindingsAfter("DELETE FROM operations WHERE id = 'sweep'"),
              testing::Contains("operations row: is a row of an operation that is not there"));
}

TEST_P(StoreCheckTest, FindsContentThatIsNoMessage) {
  ASSERT_TRUE(store_->ReplaceDocument("tenant", DocumentKind::kPlan, {"a", "", "no message"}).ok());
  EXPECT_THAT(FindingsAfter("UPDATE claims SET owner = owner"),
              ElementsAre("documents tenant/1/a: content is not a message of its kind"));
}

TEST_P(StoreCheckTest, FindsWrongTypesByRowAndColumn) {
  if (GetParam() != "sqlite") GTEST_SKIP() << "PostgreSQL keeps none";
  EXPECT_THAT(FindingsAfter("UPDATE operations SET fence = 'x' WHERE id = 'row'"),
              ElementsAre(testing::HasSubstr("operations row: the store is damaged: column fence of row \"row\" holds "
                                             "text instead of a number")));
}

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreCheckTest, testing::Values("sqlite"));
INSTANTIATE_TEST_SUITE_P(Postgresql, StoreCheckTest, testing::Values("postgresql"));

}  // namespace
}  // namespace planwright::server
