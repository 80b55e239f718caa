// `planwrightd store check|backup|restore`, as operators run it, on stores that servers have filled.
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/store/database/store_tables.h"
#include "server/store/open_store.h"
#include "tests/integration/caller.h"
#include "tests/integration/daemon_process.h"
#include "tests/integration/requests.h"
#include "tests/integration/store_fixture.h"

namespace planwright {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// A folder that goes when the test does.
class StoreFolder {
 public:
  StoreFolder() {
    std::string pattern = testing::TempDir() + "/store_command_XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~StoreFolder() { std::filesystem::remove_all(path_); }
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;

  std::string File(const std::string& name) const { return path_ / name; }
  // The flag that names a SQLite file in it.
  std::string Store(const std::string& name) const { return "--store=sqlite:" + File(name); }

 private:
  std::filesystem::path path_;
};

PlanwrightdRun StoreCommand(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "store");
  return RunPlanwrightd(std::move(arguments));
}

// Fails unless it ended so, with nothing to show and these words.
void ExpectCannot(const std::vector<std::string>& arguments, const std::string& words) {
  const PlanwrightdRun run = StoreCommand(arguments);
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, AllOf(StartsWith("planwrightd store: "), HasSubstr(words)));
}

void ExpectDone(const std::vector<std::string>& arguments, const std::string& words) {
  const PlanwrightdRun run = StoreCommand(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, words);
}

// The database of a flag "--store=SETTING".
std::unique_ptr<server::Database> DatabaseOf(const std::string& flag) {
  return server::OpenDatabase(flag.substr(std::string_view("--store=").size())).value();
}

void Execute(const std::string& store, const std::string& sql) {
  const auto execute = [&sql](server::Connection& connection) { return connection.Execute(sql).status(); };
  ASSERT_TRUE(DatabaseOf(store)->Transact(server::Database::Access::kWrite, execute).ok());
}

struct ValueText {
  std::string operator()(std::monostate /*null*/) const { return "NULL"; }
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(const std::string& value) const { return "'" + value + "'"; }
  std::string operator()(const server::Bytes& value) const { return "x'" + value.data + "'"; }
};

// All that a store holds, a string for each row, in ascending order.
std::vector<std::string> RowsOf(const std::string& store) {
  std::vector<std::string> all;
  const auto read = [&all](server::Connection& connection) -> absl::Status {
    all.clear();
    for (const server::StoreTable& table : server::StoreTables()) {
      const absl::Status visited = server::VisitRows(
          connection, table, [](std::string_view, int64_t, int64_t) {},
          [&](const server::SqlResult& rows) {
            return rows
                .ReadAll<bool>([&](server::RowReader& row) {
                  std::string text(table.name);
                  for (std::size_t i = 0; i < table.columns.size(); ++i) {
                    absl::StrAppend(&text, " ", std::visit(ValueText(), row.Any()));
                  }
                  all.push_back(std::move(text));
                  return true;
                })
                .status();
          });
      if (!visited.ok()) return visited;
    }
    return absl::OkStatus();
  };
  EXPECT_TRUE(DatabaseOf(store)->Transact(server::Database::Access::kSnapshot, read).ok());
  std::sort(all.begin(), all.end());
  return all;
}

// Two plans, a graph and a cluster of one tenant, a plan of another, and an operation that has ended.
void Fill(const std::string& address) {
  Caller alice(address, "alice");
  v1::Plan plan;
  for (const char* id : {"plan-a", "plan-b"}) ASSERT_TRUE(alice.CreatePlan(StoredRequest(id), plan).ok());
  ASSERT_TRUE(Caller(address, "bob").CreatePlan(StoredRequest("plan-a"), plan).ok());
  v1::RegisterGraphRequest header;
  header.mutable_header();
  v1::RegisterGraphRequest fragment;
  *fragment.mutable_fragment()->mutable_operators() = SmallRequest().graph().operators();
  *fragment.mutable_fragment()->mutable_tensors() = SmallRequest().graph().tensors();
  v1::RegisterGraphResponse graph;
  ASSERT_TRUE(alice.RegisterGraph({header, fragment}, graph).ok());
  v1::RegisterClusterRequest registration;
  *registration.mutable_cluster() = SmallRequest().cluster();
  v1::RegisterClusterResponse cluster;
  ASSERT_TRUE(alice(&Stub::RegisterCluster, registration, cluster).ok());
  v1::SubmitPlanRequest submission;
  *submission.mutable_plan_request() = SmallRequest();
  v1::SubmitPlanResponse submitted;
  ASSERT_TRUE(alice(&Stub::SubmitPlan, submission, submitted).ok());
  v1::WaitOperationRequest wait;
  wait.set_name(submitted.operation().name());
  v1::WaitOperationResponse waited;
  ASSERT_TRUE(alice(&Stub::WaitOperation, wait, waited).ok());
}

class StoreCommandTest : public StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    if (IsSkipped()) return;
    daemon_ = std::make_unique<DaemonProcess>(std::vector<std::string>{store()});
    address_ = daemon_->address();
    Fill(address_);
  }
  void EndServer() {
    daemon_->Signal(SIGTERM);
    EXPECT_EQ(daemon_->WaitForExit(), 0);
  }

  const StoreFolder folder_;
  std::unique_ptr<DaemonProcess> daemon_;
  std::string address_;
};

TEST_P(StoreCommandTest, WhatWasBackedUpIsRestoredEqual) {
  // While the server works on it.
  ExpectDone({"check", store()}, "the store is sound\n");
  const std::string backup = folder_.File("backup.db");
  const PlanwrightdRun backed_up = StoreCommand({"backup", store(), "--to=" + backup});
  ASSERT_EQ(backed_up.exit_code, 0) << backed_up.err;
  const std::vector<std::string> rows = RowsOf(folder_.Store("backup.db"));
  EXPECT_EQ(backed_up.out, absl::StrCat(rows.size(), " rows are in ", backup, "\n"));
  v1::Plan planned;
  Caller alice(address_, "alice");
  ASSERT_TRUE(alice.GetPlan("plans/plan-a", planned).ok());

  ExpectDone({"restore", folder_.Store("copy.db"), "--from=" + backup},
             absl::StrCat(rows.size(), " rows are in the store\n"));
  EXPECT_EQ(RowsOf(folder_.Store("copy.db")), rows);
  ExpectDone({"check", folder_.Store("copy.db")}, "the store is sound\n");
  {
    DaemonProcess other({folder_.Store("copy.db")});
    v1::Plan found;
    ASSERT_TRUE(Caller(other.address(), "alice").GetPlan("plans/plan-a", found).ok());
    EXPECT_TRUE(MessageDifferencer::Equals(found, planned));
  }

  // Back into the store that it came from, which has lost a plan meanwhile.
  v1::DeletePlanRequest deletion;
  deletion.set_name("plans/plan-a");
  v1::DeletePlanResponse deleted;
  ASSERT_TRUE(alice(&Stub::DeletePlan, deletion, deleted).ok());
  EndServer();
  ExpectCannot({"restore", store(), "--from=" + backup}, "say --replace to lose them");
  EXPECT_THAT(RowsOf(store()), SizeIs(rows.size() - 1));
  ExpectDone({"restore", store(), "--from=" + backup, "--replace"},
             absl::StrCat(rows.size(), " rows are in the store\n"));
  EXPECT_EQ(RowsOf(store()), rows);
}

TEST_P(StoreCommandTest, DamageIsFoundNeverServedAndNotRestored) {
  Execute(store(), "UPDATE documents SET content = summary WHERE tenant = 'alice' AND id = 'plan-a'");
  const PlanwrightdRun check = StoreCommand({"check", store()});
  EXPECT_EQ(check.exit_code, 2) << check.err;
  EXPECT_EQ(check.out,
            "TABLE            ROW            FINDING\n"
            "documents        alice/1/plan-a content does not match its checksum\n");
  v1::Plan plan;
  EXPECT_EQ(Caller(address_, "alice").GetPlan("plans/plan-a", plan).error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_TRUE(Caller(address_, "bob").GetPlan("plans/plan-a", plan).ok());
  EndServer();
  // A backup is of everything, as it is.
  const std::string backup = folder_.File("backup.db");
  EXPECT_EQ(StoreCommand({"backup", store(), "--to=" + backup}).exit_code, 0);
  const std::vector<std::string> rows = RowsOf(store());
  ExpectCannot({"restore", store(), "--from=" + backup, "--replace"},
               absl::StrCat(backup, " is damaged (documents alice/1/plan-a: content does not match its checksum)"));
  EXPECT_EQ(RowsOf(store()), rows);
}

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreCommandTest, testing::Values("sqlite"));
INSTANTIATE_TEST_SUITE_P(Postgresql, StoreCommandTest, testing::Values("postgresql"));

// Fills a store with `plans` plans of no tenant; the server ends by `signal`.
void FillWithPlans(const std::string& store, int plans, int signal) {
  DaemonProcess daemon({store});
  Caller caller(daemon.address());
  v1::Plan plan;
  for (int i = 0; i < plans; ++i) {
    ASSERT_TRUE(caller.CreatePlan(StoredRequest(absl::StrCat("plan-", i)), plan).ok());
  }
  daemon.Signal(signal);
  daemon.WaitForExit();
}

// The log of commits that a killed server leaves beside its file is not that of the backup.
TEST(StoreBackupTest, TakesThePlaceOfAStoreWhoseServerWasKilled) {
  const StoreFolder folder;
  FillWithPlans(folder.Store("store.db"), 1, SIGTERM);
  FillWithPlans(folder.Store("old.db"), 5, SIGKILL);
  ASSERT_TRUE(std::filesystem::exists(folder.File("old.db-wal")));
  const std::vector<std::string> rows = RowsOf(folder.Store("store.db"));
  ASSERT_THAT(rows, SizeIs(2));
  ExpectDone({"backup", folder.Store("store.db"), "--to=" + folder.File("old.db"), "--replace"},
             absl::StrCat("2 rows are in ", folder.File("old.db"), "\n"));
  EXPECT_EQ(RowsOf(folder.Store("old.db")), rows);
  ExpectDone({"check", folder.Store("old.db")}, "the store is sound\n");
}

TEST(StoreBackupTest, TakesNeitherThePlaceOfItsStoreNorOfOneThatIsInUse) {
  const StoreFolder folder;
  FillWithPlans(folder.Store("store.db"), 1, SIGTERM);
  const std::vector<std::string> rows = RowsOf(folder.Store("store.db"));
  ExpectCannot({"backup", folder.Store("store.db"), "--to=" + folder.File("store.db"), "--replace"},
               "is the store itself");
  EXPECT_EQ(RowsOf(folder.Store("store.db")), rows);
  DaemonProcess daemon({folder.Store("used.db")});
  Caller caller(daemon.address());
  v1::Plan plan;
  ASSERT_TRUE(caller.CreatePlan(StoredRequest("of-another"), plan).ok());
  ExpectCannot({"backup", folder.Store("store.db"), "--to=" + folder.File("used.db"), "--replace"}, "is in use");
  EXPECT_TRUE(caller.GetPlan("plans/of-another", plan).ok());
}

TEST(StoreBackupTest, LeavesNothingBehindWhereItCannotBeWritten) {
  const StoreFolder folder;
  FillWithPlans(folder.Store("store.db"), 1, SIGTERM);
  ExpectCannot({"backup", folder.Store("store.db"), "--to=" + folder.File("none/backup.db")},
               "cannot write " + folder.File("none/backup.db"));
  ExpectCannot({"backup", folder.Store("store.db"), "--to=" + folder.File(std::string(300, 'x'))}, "cannot write ");
  std::filesystem::create_directories(folder.File("folder/in_it"));
  ExpectCannot({"backup", folder.Store("store.db"), "--to=" + folder.File("folder"), "--replace"}, "cannot write ");
  EXPECT_FALSE(std::filesystem::exists(folder.File("folder.partial")));
  EXPECT_TRUE(std::filesystem::exists(folder.File("folder/in_it")));
  std::ofstream(folder.File("there.db")) << "mine";
  ExpectCannot({"backup", folder.Store("store.db"), "--to=" + folder.File("there.db")}, "is there already");
  EXPECT_EQ(std::filesystem::file_size(folder.File("there.db")), 4U);
  ExpectDone({"backup", folder.Store("store.db"), "--to=" + folder.File("there.db"), "--replace"},
             absl::StrCat("2 rows are in ", folder.File("there.db"), "\n"));
}

TEST(StoreCheckCommandTest, SaysWhatIsNoStore) {
  const StoreFolder folder;
  std::ofstream(folder.File("text.db")) << std::string(5000, 'x');
  const PlanwrightdRun check = StoreCommand({"check", folder.Store("text.db")});
  EXPECT_EQ(check.exit_code, 2) << check.err;
  EXPECT_THAT(check.out, AllOf(HasSubstr("(file)"), HasSubstr("file is not a database")));
  ExpectCannot({"restore", folder.Store("copy.db"), "--from=" + folder.File("text.db")}, folder.File("text.db") + ": ");
  EXPECT_FALSE(std::filesystem::exists(folder.File("copy.db")));
  std::ofstream(folder.File("empty.db")) << "";
  ExpectCannot({"check", folder.Store("empty.db")}, folder.File("empty.db") + " is empty");
  EXPECT_EQ(std::filesystem::file_size(folder.File("empty.db")), 0U);
  ExpectCannot({"check", folder.Store("none.db")}, "there is no file " + folder.File("none.db"));
  ExpectCannot({"check", folder.Store(std::string(300, 'x'))}, "there is no file ");
  EXPECT_FALSE(std::filesystem::exists(folder.File("none.db")));
}

TEST(StoreCheckCommandTest, FindsPagesThatAreOverwritten) {
  const StoreFolder folder;
  FillWithPlans(folder.Store("store.db"), 3, SIGTERM);
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(folder.File("store.db")));
  constexpr std::streamoff kPage = 4096;
  std::fstream file(folder.File("store.db"), std::ios::in | std::ios::out | std::ios::binary);
  // All but the first, which says that it is a database and what its tables are.
  file.seekp(kPage);
  file << std::string(static_cast<std::size_t>(size - kPage), '\x5a');
  file.close();
  const PlanwrightdRun check = StoreCommand({"check", folder.Store("store.db")});
  EXPECT_EQ(check.exit_code, 2) << check.out << check.err;
  EXPECT_THAT(check.out, StartsWith("TABLE "));
  EXPECT_THAT(check.err, IsEmpty());
}

TEST(StoreOptionsTest, WrongOnesAreNamedAndNothingIsDone) {
  const StoreFolder folder;
  const std::string store = folder.Store("store.db");
  const std::string other = folder.File("other.db");
  FillWithPlans(store, 1, SIGTERM);
  ExpectCannot({}, "check, backup or restore, not \"\"");
  ExpectCannot({"chek", store}, "check, backup or restore, not \"chek\"");
  ExpectCannot({"check", "twice", store}, "unexpected argument \"twice\"");
  ExpectCannot({"check", "--stor=x"}, "unexpected argument \"--stor=x\"");
  ExpectCannot({"check", "--store"}, "--store needs a value: --store=...");
  ExpectCannot({"check", "--store="}, "--store needs a value: --store=...");
  ExpectCannot({"check", "--store=none"}, "name one with --store");
  ExpectCannot({"check", "--store=mysql:secret"}, "must be sqlite:PATH, postgresql:CONNECTION or none, is \"mysql\"");
  ExpectCannot({"check", store, "--to=" + other}, "--to is for backup");
  ExpectCannot({"check", store, "--from=" + other}, "--from is for restore");
  ExpectCannot({"check", store, "--replace"}, "--replace is for backup and restore");
  ExpectCannot({"backup", store}, "needs --to=FILE");
  ExpectCannot({"backup", store, "--from=" + other}, "--from is for restore");
  ExpectCannot({"restore", store}, "needs --from=FILE");
  ExpectCannot({"restore", store, "--to=" + other}, "--to is for backup");
  ExpectCannot({"restore", store, "--from=" + other}, "there is no file " + other);
  ExpectCannot({"restore", "--store=none", "--from=" + folder.File("store.db")}, "name one with --store");
  EXPECT_FALSE(std::filesystem::exists(other));
  EXPECT_EQ(StoreCommand({"check", "--help"}).exit_code, 0);
  EXPECT_THAT(StoreCommand({"--help"}).out, HasSubstr("planwrightd store restore --store=STORE --from=FILE"));
}

TEST(StoreOptionsTest, TheEnvironmentNamesTheStoreOfThoseWhoDoNot) {
  const StoreFolder folder;
  FillWithPlans(folder.Store("store.db"), 1, SIGTERM);
  const std::string setting = "sqlite:" + folder.File("store.db");
  setenv("PLANWRIGHT_STORE", setting.c_str(), /*overwrite=*/1);
  const PlanwrightdRun check = StoreCommand({"check"});
  unsetenv("PLANWRIGHT_STORE");
  EXPECT_EQ(check.exit_code, 0) << check.err;
  EXPECT_EQ(check.out, "the store is sound\n");
}

}  // namespace
}  // namespace planwright
