// What planwrightd does when its store fails: each test prints what was sent, what came back and what was lost.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "planwright/v1/planning_service.grpc.pb.h"
#include "server/store/database/postgres_database.h"
#include "server/store/database/sqlite_database.h"
#include "tests/integration/caller.h"
#include "tests/integration/daemon_process.h"
#include "tests/integration/fault_tally.h"
#include "tests/integration/requests.h"
#include "tests/support/private_postgres.h"

namespace planwright {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

// SmallRequest as a search of its own for each `seed`.
v1::CreatePlanRequest SeededRequest(int seed) {
  v1::CreatePlanRequest request = SmallRequest();
  request.mutable_options()->set_seed(seed);
  return request;
}

void ExpectStoreUnavailable(const grpc::Status& status) {
  EXPECT_EQ(ReasonOf(status), "STORE_UNAVAILABLE");
  EXPECT_TRUE(DetailOf<google::rpc::RetryInfo>(status).has_value());
}

// A PostgreSQL of the test's own.
class PostgresFaultTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!PrivatePostgres::IsInstalled()) GTEST_SKIP() << PrivatePostgres::kMissing;
    postgres_ = std::make_unique<PrivatePostgres>();
  }
  std::string store() const { return "--store=postgresql:" + postgres_->conninfo(); }

  std::unique_ptr<PrivatePostgres> postgres_;
};

TEST_F(PostgresFaultTest, PlansOnWhileItIsStopped) {
  FaultTally tally("PostgreSQL stopped and started");
  DaemonProcess daemon({store()});
  Caller caller(daemon.address());
  v1::Plan plan;
  tally.Count(caller.CreatePlan(StoredRequest("plan-a"), plan));
  postgres_->Stop();
  tally.Count(caller.CreatePlan(SmallRequest(), plan));
  const grpc::Status lost = caller.GetPlan("plans/plan-a", plan);
  tally.Count(lost, StatusCode::UNAVAILABLE);
  ExpectStoreUnavailable(lost);
  tally.Count(caller.CreatePlan(StoredRequest("plan-b"), plan), StatusCode::UNAVAILABLE);
  EXPECT_FALSE(daemon.WaitForLog("the store does not work").empty());
  postgres_->Start();
  tally.Count(caller.GetPlan("plans/plan-a", plan));
  tally.Count(caller.CreatePlan(StoredRequest("plan-b"), plan));
  EXPECT_FALSE(daemon.WaitForLog("the store works again").empty());
}

#ifdef PLANWRIGHT_POSTGRESQL
// All connections that are idle have been closed, more than one call tries.
TEST_F(PostgresFaultTest, GoesOnAtOnceWhenItWasStartedAnew) {
  constexpr int kConnections = 10;
  const auto database = server::OpenPostgres(postgres_->conninfo());
  ASSERT_TRUE(database.ok()) << database.status();
  const auto read = [&database](const std::function<void()>& meanwhile) {
    return (*database)->Transact(server::Database::Access::kRead, [&](server::Connection& connection) {
      meanwhile();
      return connection.Execute("SELECT 1").status();
    });
  };
  {
    std::latch all_open(kConnections);
    std::vector<std::jthread> readers;
    readers.reserve(kConnections);
    for (int i = 0; i < kConnections; ++i) {
      readers.emplace_back([&] {
        const absl::Status status = read([&] { all_open.arrive_and_wait(); });
        EXPECT_TRUE(status.ok()) << status;
      });
    }
  }
  postgres_->Stop();
  postgres_->Start();
  const absl::Status status = read([] {});
  EXPECT_TRUE(status.ok()) << status;
}
#endif

// Asks for plans to be stored as plan-0, plan-1, ... until one of them is answered with `code`; the connections of a
// database hear of its new settings in their own time. Returns that answer, or the last one of many.
grpc::Status StoreUntil(Caller& caller, StatusCode code) {
  grpc::Status status;
  for (int i = 0; i < 500; ++i) {
    v1::Plan plan;
    status = caller.CreatePlan(StoredRequest("plan-" + std::to_string(i)), plan);
    if (status.error_code() == code) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return status;
}

TEST_F(PostgresFaultTest, ServesWhileItIsReadOnly) {
  FaultTally tally("PostgreSQL read-only");
  DaemonProcess daemon({store()});
  Caller caller(daemon.address());
  v1::Plan plan;
  tally.Count(caller.CreatePlan(StoredRequest("kept"), plan));
  postgres_->SetReadOnly(true);
  const grpc::Status refused = StoreUntil(caller, StatusCode::UNAVAILABLE);
  tally.Count(refused, StatusCode::UNAVAILABLE);
  ExpectStoreUnavailable(refused);
  EXPECT_THAT(refused.error_message(), HasSubstr("read-only"));
  // What writes nothing goes on.
  tally.Count(caller.GetPlan("plans/kept", plan));
  v1::CreatePlanRequest unstored = SmallRequest();
  unstored.set_skip_cache(true);
  tally.Count(caller.CreatePlan(unstored, plan));
  postgres_->SetReadOnly(false);
  tally.Count(StoreUntil(caller, StatusCode::OK));
  tally.Count(caller.GetPlan("plans/kept", plan));
}

TEST_F(PostgresFaultTest, ServesWhileItHangs) {
  FaultTally tally("PostgreSQL hangs");
  DaemonProcess daemon({store(), "--cpus=2"});
  const std::string address = daemon.address();
  Caller caller(address);
  v1::Plan plan;
  tally.Count(caller.CreatePlan(StoredRequest("plan-a"), plan));
  postgres_->Freeze();
  // More calls that need the store than there are threads for them.
  std::vector<grpc::Status> held(9);
  {
    std::vector<std::jthread> callers;
    callers.reserve(held.size());
    for (grpc::Status& status : held) {
      callers.emplace_back([&address, &status] {
        v1::Plan none;
        status = Caller(address).GetPlan("plans/plan-a", none);
      });
    }
    for (int seed = 2; seed < 22; ++seed) tally.Count(caller.CreatePlan(SeededRequest(seed), plan));
    v1::GetServerInfoResponse info;
    tally.Count(caller(&Stub::GetServerInfo, v1::GetServerInfoRequest(), info));
  }
  for (const grpc::Status& status : held) tally.Count(status, StatusCode::UNAVAILABLE);
  postgres_->Thaw();
  tally.Count(caller.GetPlan("plans/plan-a", plan));
}

TEST_F(PostgresFaultTest, StartsWithoutIt) {
  FaultTally tally("PostgreSQL not there at the start");
  postgres_->Stop();
  DaemonProcess daemon({store()});
  Caller caller(daemon.address());
  v1::Plan plan;
  tally.Count(caller.CreatePlan(SmallRequest(), plan));
  postgres_->Start();
  tally.Count(caller.CreatePlan(StoredRequest("plan-a"), plan));
}

// A file of SQLite of the test's own.
class SqliteFaultTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file() const { return (folder_ / "planwright.db").string(); }
  std::unique_ptr<DaemonProcess> Start() const {
    return std::make_unique<DaemonProcess>(std::vector<std::string>{"--store=sqlite:" + file()});
  }
  // Writes rubbish over the content of everything that is stored.
  void DamageAllRows() const {
    const auto database = server::OpenSqlite(file());
    ASSERT_TRUE(database.ok()) << database.status();
    const absl::Status status =
        (*database)->Transact(server::Database::Access::kWrite, [](server::Connection& connection) {
          return connection.Execute("UPDATE documents SET content = $1", {server::Bytes{"rubbish"}}).status();
        });
    EXPECT_TRUE(status.ok()) << status;
  }

 private:
  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("sqlite-faults-" + std::to_string(getpid()));
};

TEST_F(SqliteFaultTest, DoesNotStartWithAFileThatCannotBeWritten) {
  DaemonProcess daemon({"--store=sqlite:/proc/planwright.db"});
  EXPECT_EQ(daemon.WaitForExit(), 1);
  EXPECT_THAT(daemon.plain_output(), HasSubstr("--store=sqlite:/proc/planwright.db: "));
}

TEST_F(SqliteFaultTest, ServesOnAFullDiskAndStoresAgainWhenThereIsRoom) {
  FaultTally tally("full disk, then room again");
  const auto daemon = Start();
  Caller caller(daemon->address());
  v1::Plan plan;
  tally.Count(caller.CreatePlan(StoredRequest("plan-a"), plan));
  daemon->LimitFiles(1);
  for (const char* id : {"plan-b", "plan-c", "plan-d"}) {
    const grpc::Status status = caller.CreatePlan(StoredRequest(id), plan);
    tally.Count(status, StatusCode::UNAVAILABLE);
    ExpectStoreUnavailable(status);
  }
  // What needs no room goes on.
  tally.Count(caller.GetPlan("plans/plan-a", plan));
  tally.Count(caller.CreatePlan(SmallRequest(), plan));
  daemon->LimitFiles(std::nullopt);
  for (const char* id : {"plan-b", "plan-c", "plan-d"}) {
    tally.Count(caller.CreatePlan(StoredRequest(id), plan));
    tally.Count(caller.GetPlan("plans/" + std::string(id), plan));
  }
}

TEST_F(SqliteFaultTest, SearchesAnewWhereRowsAreDamaged) {
  constexpr int kSeeds = 5;
  FaultTally tally("damaged rows");
  // Plans them all; how many were answered from the store.
  const auto plan_all = [&tally](DaemonProcess& daemon) {
    Caller caller(daemon.address());
    int cached = 0;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      v1::Plan plan;
      tally.Count(caller.CreatePlan(SeededRequest(seed), plan));
      EXPECT_EQ(plan.objective_ms(), 4.5);
      cached += plan.provenance().cached() ? 1 : 0;
    }
    daemon.Signal(SIGTERM);
    EXPECT_EQ(daemon.WaitForExit(), 0);
    return cached;
  };
  EXPECT_EQ(plan_all(*Start()), 0);
  EXPECT_EQ(plan_all(*Start()), kSeeds);
  DamageAllRows();
  EXPECT_EQ(plan_all(*Start()), 0);
  // What was found anew has taken the place of what was damaged.
  EXPECT_EQ(plan_all(*Start()), kSeeds);
}

TEST_F(SqliteFaultTest, SaysWhichPlanIsDamagedAndServesTheOthers) {
  FaultTally tally("a damaged plan");
  const auto daemon = Start();
  Caller caller(daemon->address());
  v1::Plan plan;
  tally.Count(caller.CreatePlan(StoredRequest("damaged"), plan));
  DamageAllRows();
  tally.Count(caller.CreatePlan(StoredRequest("sound"), plan));
  tally.Count(caller.GetPlan("plans/damaged", plan), StatusCode::DATA_LOSS);
  tally.Count(caller.GetPlan("plans/sound", plan));
}

TEST(NoStoreTest, SaysThatItKeepsNothing) {
  DaemonProcess daemon;
  Caller caller(daemon.address());
  v1::Plan plan;
  const grpc::Status status = caller.CreatePlan(StoredRequest("plan-a"), plan);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "NO_STORE");
  EXPECT_EQ(ReasonOf(caller.GetPlan("plans/plan-a", plan)), "NO_STORE");
}

}  // namespace
}  // namespace planwright
