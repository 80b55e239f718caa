#include "server/store/database/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/store/sql_store.h"
#include "tests/server/store/store_backend.h"
#include "tests/server/store/turns.h"

namespace planwright::server {
namespace {

constexpr std::chrono::milliseconds kSchemaLease{60'000};

// A release that has made `more` changes after ours; the first ones only add, the last one says who still works with
// it.
std::vector<SchemaStep> LaterSteps(int more, int64_t oldest_release) {
  std::vector<SchemaStep> steps(SchemaSteps().begin(), SchemaSteps().end());
  static constexpr std::string_view kChanges[] = {"ALTER TABLE operations ADD COLUMN note TEXT",
                                                  "ALTER TABLE documents ADD COLUMN note TEXT"};
  for (int i = 0; i < more; ++i) steps.push_back({.statements = {kChanges[i]}, .oldest_release = oldest_release});
  return steps;
}

class SchemaTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    backend_ = MakeStoreBackend(GetParam());
    if (backend_ == nullptr) GTEST_SKIP() << "no PostgreSQL here: libpqxx-dev and postgresql are needed";
  }

  std::unique_ptr<SqlStore> MakeStore(std::span<const SchemaStep> steps, bool migrate = false) {
    return std::make_unique<SqlStore>(backend_->Open(), migrate, steps);
  }

  std::unique_ptr<StoreBackend> backend_;
};

TEST_P(SchemaTest, ManyServersMakeTheFirstSchemaOnce) {
  std::vector<std::jthread> servers;
  for (int i = 0; i < 4; ++i) {
    servers.emplace_back([this] {
      const absl::Status ready = MakeStore(SchemaSteps())->Check();
      EXPECT_TRUE(ready.ok()) << ready;
    });
  }
}

TEST_P(SchemaTest, AnEmptyDatabaseIsNotChecked) {
  const absl::Status status = CheckSchema(*backend_->Open(), SchemaSteps());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), testing::StartsWith("this is no store of planwrightd: "));
}

TEST_P(SchemaTest, ChangesAnOlderSchemaOnlyWhenAsked) {
  const std::vector<SchemaStep> later = LaterSteps(2, 1);
  ASSERT_TRUE(MakeStore(SchemaSteps())->Check().ok());
  const absl::Status too_old = MakeStore(later)->Check();
  EXPECT_EQ(too_old.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(too_old.message().find("--migrate"), absl::string_view::npos) << too_old;
  EXPECT_TRUE(MakeStore(later, /*migrate=*/true)->Check().ok());
  EXPECT_TRUE(MakeStore(later)->Check().ok());
}

TEST_P(SchemaTest, RefusesASchemaThatSaysItIsTooNew) {
  const std::vector<SchemaStep> later = LaterSteps(2, 3);
  ASSERT_TRUE(MakeStore(later)->Check().ok());
  const std::unique_ptr<SqlStore> old = MakeStore(SchemaSteps());
  EXPECT_EQ(old->Check().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(old->PutDocument("tenant", DocumentKind::kPlan, {"a", "", ""}, Quota()).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// Release 1 runs; release 2 starts beside it on the old schema, migrates while jobs are in flight, and takes over.
TEST_P(SchemaTest, LosesNothingInARollingUpgrade) {
  constexpr int kJobs = 60;
  const std::vector<SchemaStep> later = LaterSteps(1, 1);
  const std::unique_ptr<SqlStore> old_release = MakeStore(SchemaSteps());
  for (int i = 0; i < kJobs; ++i) {
    ASSERT_TRUE(old_release->Submit("tenant", {{absl::StrCat("job", i), "request"}, {}, ""}, Quota()).ok());
  }
  ASSERT_TRUE(MakeStore(later)->Check().ok());
  std::atomic<int> ended{0};
  const auto work = [&ended](SqlStore& store, int most) {
    for (int i = 0; i < most; ++i) {
      const auto job = store.TakeOperation(kSchemaLease, &ByName);
      ASSERT_TRUE(job.ok()) << job.status();
      if (!job->has_value()) return;
      const absl::Status end =
          store.EndOperation((*job)->id, (*job)->fence, {OperationState::kSucceeded, "plan", "short"});
      EXPECT_TRUE(end.ok()) << end;
      ++ended;
    }
  };
  {
    std::jthread old_worker([&] { work(*old_release, kJobs / 2); });
    const std::unique_ptr<SqlStore> new_release = MakeStore(later, /*migrate=*/true);
    EXPECT_TRUE(new_release->Check().ok());
    work(*new_release, kJobs);
  }
  EXPECT_EQ(ended, kJobs);
  EXPECT_TRUE(old_release->Check().ok());
  const auto jobs = old_release->ListOperations("tenant", {}, std::nullopt, 1000);
  for (const Operation& job : *jobs) {
    EXPECT_EQ(job.state, OperationState::kSucceeded);
    EXPECT_EQ(job.attempts, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Sqlite, SchemaTest, testing::Values("sqlite"));
INSTANTIATE_TEST_SUITE_P(Postgresql, SchemaTest, testing::Values("postgresql"));

}  // namespace
}  // namespace planwright::server
