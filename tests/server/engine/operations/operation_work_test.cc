#include "server/engine/operations/operation_work.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "server/codec/cluster.h"
#include "server/codec/graph.h"
#include "server/store/open_store.h"
#include "tests/support/lattices.h"

namespace planwright::server {
namespace {

using std::chrono::milliseconds;

class CountingLog final : public SearchObserver {
 public:
  CountingLog(std::atomic<int>& started, std::atomic<int>& stopped) : started_(started), stopped_(stopped) {}
  void OnSearchStart(const SearchStart& /*start*/) override { ++started_; }
  void OnStopRequested() override { ++stopped_; }

 private:
  std::atomic<int>& started_;
  std::atomic<int>& stopped_;
};

// A server's operations, without its calls.
class OperationWorkTest : public testing::Test {
 protected:
  static EngineConfig Config() {
    EngineConfig config;
    config.cpus = 2;
    config.cache_bytes = int64_t{64} << 20;
    config.max_operations = 2;
    return config;
  }

  ~OperationWorkTest() override {
    runner_.reset();
    std::filesystem::remove_all(folder_);
  }

  static std::string EasyRequest() {
    v1::CreatePlanRequest request;
    request.set_graph_reference("zoo:bert-base");
    request.set_cluster_reference("zoo:pcie:2");
    return request.SerializeAsString();
  }

  // Ends when its time does, or when it is stopped.
  static std::string HardRequest(int time_limit_s) {
    const Lattice lattice = MakeLattice("tow_9x12_hi").value();
    v1::CreatePlanRequest request;
    *request.mutable_graph() = EncodeGraph(lattice.graph);
    *request.mutable_cluster() = EncodeCluster(lattice.cluster);
    request.mutable_options()->mutable_time_limit()->set_seconds(time_limit_s);
    return request.SerializeAsString();
  }

  void Submit(const std::string& id, const std::string& request) {
    ASSERT_TRUE(store_->Submit("tenant", {{id, request}, {}, ""}, Quota()).ok());
  }
  Operation Find(const std::string& id) { return store_->FindOperation("tenant", id, OperationView::kFull).value(); }
  static v1::Plan Parsed(const std::string& bytes) {
    v1::Plan plan;
    EXPECT_TRUE(plan.ParseFromString(bytes));
    return plan;
  }

  void Run() {
    OperationRunner::Options options;
    options.max_running = 2;
    options.idle_poll = milliseconds(20);
    options.save_interval = milliseconds(20);
    runner_ = std::make_unique<OperationRunner>(
        *store_, options,
        OperationRunner::Hooks{.work =
                                   [this](OperationJob& job) {
                                     return RunOperation({engine_, *store_, finder_, operating_}, job,
                                                         std::make_unique<CountingLog>(started_, stopped_));
                                   },
                               .give_up = &GiveUpOperation,
                               .on_event = {}});
  }

  // Gives up after a minute, which is a failure.
  static void WaitUntil(const std::function<bool()>& is_true) {
    for (int i = 0; i < 6000 && !is_true(); ++i) std::this_thread::sleep_for(milliseconds(10));
    EXPECT_TRUE(is_true());
  }
  void WaitForEnd(const std::string& id) {
    WaitUntil([&] { return HasEnded(Find(id).state); });
  }

  static std::filesystem::path MakeFolder() {
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / absl::StrCat("work-", getpid());
    std::filesystem::create_directories(folder);
    return folder;
  }

  const std::filesystem::path folder_ = MakeFolder();
  std::unique_ptr<Store> store_ = OpenStore("sqlite:" + (folder_ / "store.db").string(), /*migrate=*/false).value();
  std::atomic<int> started_{0};
  std::atomic<int> stopped_{0};
  ClaimKeeper claims_{*store_};
  PlanningEngine engine_{Config(), store_.get()};
  PlanFinder finder_{{engine_, searching_, serving_, storing_, &claims_}, int64_t{1} << 30};
  Executor storing_{{.max_running = 2, .max_waiting = 10}};
  Executor serving_{{.max_running = 2, .max_waiting = 10}};
  Executor searching_{{.max_running = 1, .max_waiting = 0}};
  Executor operating_{{.max_running = 2}};
  PlanFinder::Ending ending_{finder_};
  std::unique_ptr<OperationRunner> runner_;
};

TEST_F(OperationWorkTest, ThePlanIsTheResult) {
  Submit("easy", EasyRequest());
  Run();
  WaitForEnd("easy");
  EXPECT_EQ(Find("easy").state, OperationState::kSucceeded);
  EXPECT_GT(Parsed(Find("easy").result).objective_ms(), 0);
  EXPECT_EQ(started_, 1);
}

// The disk of the store is as good as full, but what runs may still end.
TEST_F(OperationWorkTest, KeepsAPlanOnceThereIsRoomForIt) {
  v1::CreatePlanRequest request;
  ASSERT_TRUE(request.ParseFromString(EasyRequest()));
  request.set_plan_id("kept-plan");
  Submit("stored", request.SerializeAsString());
  const std::string setting = "sqlite:" + (folder_ / "store.db").string();
  const RoomAlarm full{.free_bytes = std::numeric_limits<int64_t>::max()};
  const std::unique_ptr<Store> tight = OpenStore(setting, /*migrate=*/false, full).value();
  {
    PlanningEngine engine(Config(), tight.get());
    PlanFinder finder({engine, searching_, serving_, storing_, &claims_}, int64_t{1} << 30);
    const PlanFinder::Ending ending(finder);
    std::atomic<int> tries{0};
    OperationRunner::Options options;
    options.idle_poll = options.save_interval = milliseconds(20);
    OperationRunner runner(*tight, options,
                           {.work =
                                [&](OperationJob& job) {
                                  ++tries;
                                  return RunOperation({engine, *tight, finder, operating_}, job,
                                                      std::make_unique<CountingLog>(started_, stopped_));
                                },
                            .give_up = &GiveUpOperation,
                            .on_event = {}});
    WaitUntil([&] { return !Find("stored").incumbent.empty(); });
    std::this_thread::sleep_for(milliseconds(100));
    EXPECT_EQ(Find("stored").state, OperationState::kRunning);
    EXPECT_EQ(tries, 1);
    runner.Stop();
  }
  EXPECT_EQ(Find("stored").state, OperationState::kQueued);
  EXPECT_EQ(Find("stored").attempts, 1);
  Run();
  WaitForEnd("stored");
  EXPECT_EQ(Find("stored").state, OperationState::kSucceeded);
  EXPECT_EQ(Parsed(Find("stored").result).name(), "plans/kept-plan");
}

TEST_F(OperationWorkTest, WhatCannotBePlannedFails) {
  Submit("wrong", "");
  Run();
  WaitForEnd("wrong");
  EXPECT_EQ(Find("wrong").state, OperationState::kFailed);
  EXPECT_EQ(started_, 0);
}

TEST_F(OperationWorkTest, ACancelledOneKeepsWhatItsSearchHasFound) {
  Submit("hard", HardRequest(600));
  Run();
  WaitUntil([this] { return !Find("hard").incumbent.empty(); });
  ASSERT_TRUE(store_->RequestCancel("tenant", "hard").ok());
  WaitForEnd("hard");
  EXPECT_EQ(Find("hard").state, OperationState::kCancelled);
  EXPECT_EQ(Parsed(Find("hard").result).provenance().stop_reason(), v1::STOP_REASON_CANCELLED);
  EXPECT_EQ(stopped_, 1);
}

// Whoever comes second joins the search of the first, or finds its plan.
TEST_F(OperationWorkTest, ThoseThatAskForTheSameAreSearchedForOnce) {
  Submit("one", HardRequest(2));
  Submit("two", HardRequest(2));
  Run();
  WaitForEnd("one");
  WaitForEnd("two");
  EXPECT_EQ(Find("one").state, OperationState::kSucceeded);
  EXPECT_EQ(Find("two").state, OperationState::kSucceeded);
  EXPECT_EQ(Parsed(Find("one").result).objective_ms(), Parsed(Find("two").result).objective_ms());
  EXPECT_EQ(started_, 1);
}

TEST_F(OperationWorkTest, TheNextServerGoesOnFromWhatWasSaved) {
  Submit("hard", HardRequest(600));
  Run();
  WaitUntil([this] { return !Find("hard").incumbent.empty(); });
  runner_.reset();
  const Operation returned = Find("hard");
  EXPECT_EQ(returned.state, OperationState::kQueued);
  const double saved_ms = Parsed(returned.incumbent).objective_ms();
  Run();
  WaitUntil([&] {
    const std::string incumbent = Find("hard").incumbent;
    return incumbent != returned.incumbent && Parsed(incumbent).objective_ms() <= saved_ms;
  });
  EXPECT_EQ(Find("hard").attempts, 2);
  ASSERT_TRUE(store_->RequestCancel("tenant", "hard").ok());
  WaitForEnd("hard");
  EXPECT_LE(Parsed(Find("hard").result).objective_ms(), saved_ms);
  EXPECT_EQ(started_, 2);
}

}  // namespace
}  // namespace planwright::server
