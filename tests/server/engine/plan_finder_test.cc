#include "server/engine/plan_finder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "server/codec/cluster.h"
#include "server/codec/graph.h"
#include "server/serving/admission/retry_delay.h"
#include "server/store/open_store.h"
#include "server/store/sql_store.h"
#include "tests/support/lattices.h"

namespace planwright::server {
namespace {

// What the searches of a test did.
struct Searches {
  std::atomic<int> started{0};
  std::atomic<int> ended{0};
  std::atomic<int> stopped{0};
  std::latch first_started{1};
};

class SearchesLog final : public SearchObserver {
 public:
  explicit SearchesLog(Searches& searches) : searches_(searches) {}

  void OnSearchStart(const SearchStart& /*start*/) override {
    if (++searches_.started == 1) searches_.first_started.count_down();
  }
  void OnSearchEnd(const absl::StatusOr<Plan>& /*result*/, std::chrono::nanoseconds /*elapsed*/) override {
    ++searches_.ended;
  }
  void OnStopRequested() override { ++searches_.stopped; }

 private:
  Searches& searches_;
};

// Counts the phases that it is told; how many incumbents there are depends on the time that a search has.
struct Phases final : public SearchObserver {
  void OnPhase(std::string_view /*phase*/) override { ++count; }
  std::atomic<int> count{0};
};

// Waits for the first plan of a search.
class FirstPlan final : public SearchObserver {
 public:
  void OnIncumbent(const Incumbent& /*incumbent*/) override {
    if (!is_found_.exchange(true)) found_.count_down();
  }
  void Wait() { found_.wait(); }
  bool is_found() const { return is_found_; }

 private:
  std::atomic<bool> is_found_{false};
  std::latch found_{1};
};

// One caller at the finder.
class Caller {
 public:
  PlanFinder::Order Order(PlanTask task, Searches& searches, SearchObserver* observer = nullptr) {
    PlanFinder::Order order;
    order.task = std::move(task);
    order.context.stop = stop_.get_token();
    order.context.observer = observer;
    order.log = std::make_unique<SearchesLog>(searches);
    order.bytes = 100;
    order.done = [this](absl::StatusOr<v1::Plan> plan, PlanSource source) {
      source_ = source;
      answer_.set_value(std::move(plan));
    };
    return order;
  }
  void Leave() { stop_.request_stop(); }
  absl::StatusOr<v1::Plan> Wait() { return answer_.get_future().get(); }
  // After Wait.
  PlanSource source() const { return source_; }

 private:
  std::stop_source stop_;
  std::promise<absl::StatusOr<v1::Plan>> answer_;
  PlanSource source_ = PlanSource::kSearched;
};

class PlanFinderTest : public testing::Test {
 protected:
  static EngineConfig Config() {
    EngineConfig config;
    config.cpus = 2;
    config.cache_bytes = int64_t{64} << 20;
    return config;
  }

  PlanTask Task(const v1::CreatePlanRequest& request) { return engine_.ReadTask(request, CallContext()).value(); }

  PlanTask EasyTask(bool skip_cache = false) {
    v1::CreatePlanRequest request;
    request.set_graph_reference("zoo:bert-base");
    request.set_cluster_reference("zoo:pcie:2");
    request.set_skip_cache(skip_cache);
    return Task(request);
  }

  // Devices are called by `prefix` and their names.
  static v1::CreatePlanRequest LatticeRequest(const std::string& prefix) {
    const Lattice lattice = MakeLattice("tow_9x12_hi").value();
    v1::CreatePlanRequest request;
    *request.mutable_graph() = EncodeGraph(lattice.graph);
    *request.mutable_cluster() = EncodeCluster(lattice.cluster);
    for (v1::Device& device : *request.mutable_cluster()->mutable_devices()) device.set_name(prefix + device.name());
    return request;
  }

  // No device has memory for it.
  PlanTask ImpossibleTask(const std::string& prefix) {
    v1::CreatePlanRequest request = LatticeRequest(prefix);
    for (v1::DeviceClass& device_class : *request.mutable_cluster()->mutable_device_classes()) {
      device_class.set_memory_bytes(1);
    }
    for (v1::Operator& op : *request.mutable_graph()->mutable_operators()) op.set_memory_bytes(2);
    return Task(request);
  }

  // Ends when its time does, or when it is stopped.
  PlanTask HardTask(int time_limit_ms = 600'000, const std::string& prefix = "") {
    v1::CreatePlanRequest request = LatticeRequest(prefix);
    request.mutable_options()->mutable_time_limit()->set_seconds(time_limit_ms / 1000);
    request.mutable_options()->mutable_time_limit()->set_nanos(time_limit_ms % 1000 * 1'000'000);
    return Task(request);
  }

  // A finder with room for more. Its searches end before it, as those of the server do.
  struct RoomyFinder {
    RoomyFinder(PlanFinderTest& test, Executor::Options options)
        : finder({test.engine_, searching, test.serving_, test.storing_}, 1000), searching(std::move(options)) {}

    PlanFinder finder;
    Executor searching;
    PlanFinder::Ending ending{finder};
  };

  Searches searches_;
  PlanningEngine engine_{Config()};
  PlanFinder finder_{{engine_, searching_, serving_, storing_}, 1000};
  Executor storing_{{.max_running = 2, .max_waiting = 10}};
  Executor serving_{{.max_running = 2, .max_waiting = 10}};
  Executor searching_{{.max_running = 1, .max_waiting = 0}};
  PlanFinder::Ending ending_{finder_};
};

TEST_F(PlanFinderTest, SearchesOnceAndAnswersFromTheCacheThen) {
  Caller first;
  finder_.Take(first.Order(EasyTask(), searches_));
  ASSERT_TRUE(first.Wait().ok());
  EXPECT_EQ(first.source(), PlanSource::kSearched);
  Caller second;
  finder_.Take(second.Order(EasyTask(), searches_));
  const absl::StatusOr<v1::Plan> plan = second.Wait();
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(second.source(), PlanSource::kCached);
  EXPECT_TRUE(plan->provenance().cached());
  EXPECT_EQ(searches_.started, 1);
}

TEST_F(PlanFinderTest, CallsForTheSameShareOneSearch) {
  RoomyFinder roomy(*this, {.max_running = 1, .max_waiting = 2});
  // The search begins when both have taken their shares.
  std::latch joined(1);
  ASSERT_TRUE(roomy.searching.Submit({.run = [&joined](const absl::Status&) { joined.wait(); }, .tenant = "a"}).ok());
  Caller first;
  Phases heard;
  const PlanTask task = HardTask(300);
  roomy.finder.Take(first.Order(task, searches_));
  Caller second;
  roomy.finder.Take(second.Order(task, searches_, &heard));
  joined.count_down();
  const absl::StatusOr<v1::Plan> own = first.Wait();
  const absl::StatusOr<v1::Plan> shared = second.Wait();
  ASSERT_TRUE(own.ok());
  ASSERT_TRUE(shared.ok());
  EXPECT_EQ(own->objective_ms(), shared->objective_ms());
  EXPECT_FALSE(own->provenance().cached());
  EXPECT_TRUE(shared->provenance().cached());
  EXPECT_EQ(second.source(), PlanSource::kShared);
  EXPECT_EQ(searches_.started, 1);
  EXPECT_EQ(roomy.finder.shared(), 1);
  EXPECT_GT(heard.count, 0);
}

TEST_F(PlanFinderTest, CallsForOtherDevicesThatAreAlikeShareOneSearchToo) {
  Caller first;
  finder_.Take(first.Order(HardTask(300), searches_));
  Caller second;
  finder_.Take(second.Order(HardTask(300, "my-"), searches_));
  ASSERT_TRUE(first.Wait().ok());
  const absl::StatusOr<v1::Plan> shared = second.Wait();
  ASSERT_TRUE(shared.ok());
  EXPECT_EQ(second.source(), PlanSource::kShared);
  EXPECT_EQ(shared->stages(0).replicas(0).device().substr(0, 3), "my-");
  EXPECT_EQ(searches_.started, 1);
}

// What is proven of somebody's devices is said to others of their own.
TEST_F(PlanFinderTest, ProofsSpeakOfTheCallersOwnDevices) {
  RoomyFinder roomy(*this, {.max_running = 1, .max_waiting = 1});
  Caller first;
  roomy.finder.Take(first.Order(ImpossibleTask(""), searches_));
  Caller second;
  roomy.finder.Take(second.Order(ImpossibleTask("my-"), searches_));
  EXPECT_EQ(first.Wait().status().code(), absl::StatusCode::kFailedPrecondition);
  const absl::Status refused = second.Wait().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(searches_.started, 2);
}

TEST_F(PlanFinderTest, TheSearchGoesOnForThoseWhoStay) {
  Caller first;
  finder_.Take(first.Order(HardTask(400), searches_));
  Caller second;
  finder_.Take(second.Order(HardTask(400), searches_));
  first.Leave();
  EXPECT_EQ(first.Wait().status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(second.Wait().ok());
  EXPECT_EQ(searches_.started, 1);
  EXPECT_EQ(searches_.stopped, 0);
}

TEST_F(PlanFinderTest, TheLastOneThatLeavesStopsTheSearch) {
  Caller first;
  finder_.Take(first.Order(HardTask(), searches_));
  Caller second;
  finder_.Take(second.Order(HardTask(), searches_));
  searches_.first_started.wait();
  first.Leave();
  second.Leave();
  EXPECT_EQ(first.Wait().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(second.Wait().status().code(), absl::StatusCode::kCancelled);
  // The place of the search is free again when it has ended.
  Caller third;
  while (searches_.ended == 0 || searching_.load().running > 0) std::this_thread::yield();
  finder_.Take(third.Order(EasyTask(), searches_));
  EXPECT_TRUE(third.Wait().ok());
  EXPECT_EQ(searches_.stopped, 1);
}

// Operations keep what their searches have found when they are cancelled.
TEST_F(PlanFinderTest, OneWhoTakesWhatIsFoundStopsTheSearchAndGetsItsPlan) {
  FirstPlan first_plan;
  Caller caller;
  PlanFinder::Order order = caller.Order(HardTask(), searches_, &first_plan);
  order.takes_what_is_found = true;
  finder_.Take(std::move(order));
  first_plan.Wait();
  caller.Leave();
  const absl::StatusOr<v1::Plan> plan = caller.Wait();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->provenance().stop_reason(), v1::STOP_REASON_CANCELLED);
  EXPECT_EQ(searches_.stopped, 1);
}

TEST_F(PlanFinderTest, OneWhoJoinedASearchAndTakesWhatIsFoundGetsItsPlan) {
  FirstPlan first_plan;
  Caller first;
  finder_.Take(first.Order(HardTask(), searches_, &first_plan));
  Caller second;
  PlanFinder::Order order = second.Order(HardTask(), searches_);
  order.takes_what_is_found = true;
  finder_.Take(std::move(order));
  first_plan.Wait();
  first.Leave();
  EXPECT_EQ(first.Wait().status().code(), absl::StatusCode::kCancelled);
  second.Leave();
  const absl::StatusOr<v1::Plan> plan = second.Wait();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(second.source(), PlanSource::kShared);
  EXPECT_EQ(searches_.started, 1);
  EXPECT_EQ(searches_.stopped, 1);
}

TEST_F(PlanFinderTest, WhoJoinsASearchIsToldWhatItHasFound) {
  FirstPlan first_plan;
  Caller first;
  finder_.Take(first.Order(HardTask(), searches_, &first_plan));
  first_plan.Wait();
  FirstPlan heard;
  Caller second;
  finder_.Take(second.Order(HardTask(), searches_, &heard));
  EXPECT_TRUE(heard.is_found());
  first.Leave();
  second.Leave();
  EXPECT_EQ(second.Wait().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(searches_.started, 1);
}

TEST_F(PlanFinderTest, WhatOthersWaitForGoesOnAlsoForOneWhoTakesWhatIsFound) {
  Caller caller;
  PlanFinder::Order order = caller.Order(HardTask(400), searches_);
  order.takes_what_is_found = true;
  finder_.Take(std::move(order));
  Caller other;
  finder_.Take(other.Order(HardTask(400), searches_));
  searches_.first_started.wait();
  caller.Leave();
  EXPECT_EQ(caller.Wait().status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(other.Wait().ok());
  EXPECT_EQ(searches_.stopped, 0);
}

TEST_F(PlanFinderTest, SearchesRunWhereTheirOrdersSay) {
  Executor own({.max_running = 1, .max_waiting = 0});
  // Nothing else would be searched for here. The job may still wake up when the test has ended.
  const auto end = std::make_shared<std::latch>(1);
  ASSERT_TRUE(searching_.Submit({.run = [end](const absl::Status&) { end->wait(); }, .tenant = "a"}).ok());
  Caller caller;
  PlanFinder::Order order = caller.Order(EasyTask(), searches_);
  order.searching = &own;
  order.has_place = true;
  finder_.Take(std::move(order));
  EXPECT_TRUE(caller.Wait().ok());
  end->count_down();
}

TEST_F(PlanFinderTest, OneWithAPlanToStartFromSearchesAlone) {
  RoomyFinder roomy(*this, {.max_running = 2, .max_waiting = 2});
  Caller first;
  roomy.finder.Take(first.Order(HardTask(300), searches_));
  Caller second;
  PlanTask task = HardTask(300);
  task.start.emplace();
  roomy.finder.Take(second.Order(std::move(task), searches_));
  EXPECT_TRUE(first.Wait().ok());
  EXPECT_TRUE(second.Wait().ok());
  EXPECT_EQ(second.source(), PlanSource::kSearched);
  EXPECT_EQ(searches_.started, 2);
}

TEST_F(PlanFinderTest, OneWhoHasLeftAlreadyIsNotSearchedFor) {
  Caller gone;
  gone.Leave();
  finder_.Take(gone.Order(HardTask(), searches_));
  EXPECT_EQ(gone.Wait().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(PlanFinderTest, OtherLimitsAreAnotherSearch) {
  Caller first;
  finder_.Take(first.Order(HardTask(), searches_));
  Caller second;
  finder_.Take(second.Order(HardTask(300), searches_));
  // There is room for one search only.
  const absl::Status refused = second.Wait().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(RetryDelayOf(refused).has_value());
  first.Leave();
  first.Wait().IgnoreError();
}

// Another server with the store of the first one.
class SharedStoreTest : public PlanFinderTest {
 protected:
  struct Server {
    explicit Server(Store& store) : claims(store), engine(Config(), &store) {}

    ClaimKeeper claims;
    PlanningEngine engine;
    PlanFinder finder{{engine, searching, serving, storing, &claims}, 1000};
    Executor storing{{.max_running = 2, .max_waiting = 10}};
    Executor serving{{.max_running = 2, .max_waiting = 10}};
    Executor searching{{.max_running = 1, .max_waiting = 0}};
    PlanFinder::Ending ending{finder};
  };

  ~SharedStoreTest() override {
    one_.reset();
    other_.reset();
    std::filesystem::remove_all(folder_);
  }

  static std::filesystem::path MakeFolder() {
    const std::filesystem::path folder = testing::TempDir() + "/desk_test." + std::to_string(getpid());
    std::filesystem::create_directories(folder);
    return folder;
  }

  const std::filesystem::path folder_ = MakeFolder();
  std::unique_ptr<Store> store_ = OpenStore("sqlite:" + folder_.string() + "/db", /*migrate=*/false).value();
  std::unique_ptr<Server> one_ = std::make_unique<Server>(*store_);
  std::unique_ptr<Server> other_ = std::make_unique<Server>(*store_);
};

TEST_F(SharedStoreTest, ServersWithOneStoreSearchOnce) {
  Caller first;
  one_->finder.Take(first.Order(HardTask(600), searches_));
  searches_.first_started.wait();
  Caller second;
  other_->finder.Take(second.Order(HardTask(600), searches_));
  const absl::StatusOr<v1::Plan> own = first.Wait();
  const absl::StatusOr<v1::Plan> theirs = second.Wait();
  ASSERT_TRUE(own.ok()) << own.status();
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  EXPECT_EQ(own->objective_ms(), theirs->objective_ms());
  EXPECT_TRUE(theirs->provenance().cached());
  EXPECT_EQ(second.source(), PlanSource::kCached);
  EXPECT_EQ(searches_.started, 1);
}

// A database that hangs for as long as it is told to.
class HangingDatabase final : public Database {
 public:
  explicit HangingDatabase(std::unique_ptr<Database> database) : database_(std::move(database)) {}

  void Hang() { hangs_ = true; }
  void GoOn() {
    hangs_ = false;
    hangs_.notify_all();
  }

  std::string_view kind() const override { return database_->kind(); }
  std::string_view skip_locked_clause() const override { return database_->skip_locked_clause(); }
  std::string_view lock_clause() const override { return database_->lock_clause(); }
  absl::Status Transact(Access access, const std::function<absl::Status(Connection&)>& body) override {
    hangs_.wait(true);
    return database_->Transact(access, body);
  }
  absl::Status LockName(Connection& connection, std::string_view name) override {
    return database_->LockName(connection, name);
  }
  std::optional<Room> room() const override { return database_->room(); }
  std::string_view size_query() const override { return database_->size_query(); }
  void Maintain() override { database_->Maintain(); }
  absl::Status LockSchema(Connection& connection) override { return database_->LockSchema(connection); }

 private:
  const std::unique_ptr<Database> database_;
  std::atomic<bool> hangs_{false};
};

TEST_F(SharedStoreTest, SearchesWithoutAStoreThatHangs) {
  auto database = std::make_unique<HangingDatabase>(OpenDatabase("sqlite:" + folder_.string() + "/db").value());
  HangingDatabase& hanging = *database;
  SqlStore store(std::move(database), /*migrate=*/false);
  ASSERT_TRUE(store.Check().ok());
  {
    Server server(store);
    hanging.Hang();
    // More than there are threads that ask the store.
    for (int seed = 1; seed <= 5; ++seed) {
      v1::CreatePlanRequest request;
      request.set_graph_reference("zoo:bert-base");
      request.set_cluster_reference("zoo:pcie:2");
      request.mutable_options()->set_seed(seed);
      Caller caller;
      server.finder.Take(caller.Order(server.engine.ReadTask(request, CallContext()).value(), searches_));
      const absl::StatusOr<v1::Plan> plan = caller.Wait();
      EXPECT_TRUE(plan.ok()) << plan.status();
      EXPECT_EQ(caller.source(), PlanSource::kSearched);
      // Its turn ends a moment after its answer, and nobody may wait behind it.
      while (server.searching.load().running > 0) std::this_thread::yield();
    }
    hanging.GoOn();
  }
}

TEST_F(SharedStoreTest, WhoeverWaitsMayLeave) {
  Caller first;
  one_->finder.Take(first.Order(HardTask(), searches_));
  searches_.first_started.wait();
  Caller second;
  other_->finder.Take(second.Order(HardTask(), searches_));
  second.Leave();
  EXPECT_EQ(second.Wait().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(searches_.stopped, 0);
  first.Leave();
  EXPECT_FALSE(first.Wait().ok());
  EXPECT_EQ(searches_.started, 1);
}

TEST_F(SharedStoreTest, ADeadServersSearchIsTakenOverWhenItsLeaseIsOver) {
  const PlanTask task = HardTask(400);
  ASSERT_TRUE(
      store_->Claim(PlanFinder::ClaimKey(task, kDefaultTenant), "dead 400", std::chrono::milliseconds(150))->is_ours);
  Caller caller;
  other_->finder.Take(caller.Order(task, searches_));
  const absl::StatusOr<v1::Plan> plan = caller.Wait();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(caller.source(), PlanSource::kSearched);
  EXPECT_EQ(searches_.started, 1);
}

TEST_F(SharedStoreTest, NobodyWaitsForALongerSearchThanItsOwn) {
  const PlanTask task = HardTask(200);
  ASSERT_TRUE(store_->Claim(PlanFinder::ClaimKey(task, kDefaultTenant), "slow 600000", std::chrono::hours(1))->is_ours);
  Caller caller;
  other_->finder.Take(caller.Order(task, searches_));
  EXPECT_TRUE(caller.Wait().ok());
  EXPECT_EQ(caller.source(), PlanSource::kSearched);
}

TEST_F(PlanFinderTest, WhoSkipsTheCacheSearchesAlone) {
  Caller first;
  finder_.Take(first.Order(EasyTask(), searches_));
  ASSERT_TRUE(first.Wait().ok());
  Caller second;
  while (searching_.load().running > 0) std::this_thread::yield();
  finder_.Take(second.Order(EasyTask(/*skip_cache=*/true), searches_));
  ASSERT_TRUE(second.Wait().ok());
  EXPECT_EQ(second.source(), PlanSource::kSearched);
  EXPECT_EQ(searches_.started, 2);
}

TEST_F(PlanFinderTest, RequestsThatWaitForOthersAreBoundedInBytes) {
  Caller leader;
  finder_.Take(leader.Order(HardTask(), searches_));
  std::vector<std::unique_ptr<Caller>> waiting;
  for (int i = 0; i < 10; ++i) {
    finder_.Take(waiting.emplace_back(std::make_unique<Caller>())->Order(HardTask(), searches_));
  }
  Caller refused;
  finder_.Take(refused.Order(HardTask(), searches_));
  EXPECT_EQ(refused.Wait().status().code(), absl::StatusCode::kResourceExhausted);
  leader.Leave();
  for (const auto& caller : waiting) caller->Leave();
  for (const auto& caller : waiting) EXPECT_FALSE(caller->Wait().ok());
}

PlanFinder::Order Of(const char* tenant, PlanFinder::Order order) {
  order.context.tenant = tenant;
  return order;
}

TEST_F(PlanFinderTest, WhoWaitsForTheTurnOfItsTenantIsNotLeftBehind) {
  RoomyFinder roomy(*this, {.max_running = 1, .max_waiting = 9});
  std::latch joined(1);
  ASSERT_TRUE(roomy.searching.Submit({.run = [&joined](const absl::Status&) { joined.wait(); }, .tenant = "x"}).ok());
  Caller leader;
  roomy.finder.Take(Of("first", leader.Order(EasyTask(), searches_)));
  std::vector<std::unique_ptr<Caller>> waiting;
  for (int i = 0; i < 10; ++i) {
    roomy.finder.Take(Of("first", waiting.emplace_back(std::make_unique<Caller>())->Order(EasyTask(), searches_)));
  }
  // All that may wait for others does.
  Caller other;
  roomy.finder.Take(Of("second", other.Order(EasyTask(), searches_)));
  leader.Leave();
  for (const auto& caller : waiting) caller->Leave();
  joined.count_down();
  EXPECT_TRUE(other.Wait().ok());
  for (const auto& caller : waiting) caller->Wait().IgnoreError();
  leader.Wait().IgnoreError();
}

TEST_F(PlanFinderTest, NobodyWaitsForWhatAnotherTenantHasQueued) {
  RoomyFinder roomy(*this, {.max_running = 2, .max_waiting = 2});
  roomy.searching.SetTenants({.named = {{"slow", {.max_running = 1}}}, .others = {}});
  Caller running;
  roomy.finder.Take(Of("slow", running.Order(HardTask(), searches_)));
  searches_.first_started.wait();
  Caller queued;
  roomy.finder.Take(Of("slow", queued.Order(EasyTask(), searches_)));
  Caller other;
  roomy.finder.Take(Of("fast", other.Order(EasyTask(), searches_)));
  EXPECT_TRUE(other.Wait().ok());
  // The search is that of both.
  EXPECT_TRUE(queued.Wait().ok());
  EXPECT_EQ(searches_.started, 2);
  EXPECT_EQ(roomy.searching.load().waiting, 0);
  running.Leave();
  EXPECT_FALSE(running.Wait().ok());
}

// The one that opened the search is refused when the others have joined it already.
TEST_F(SharedStoreTest, NobodyIsRefusedForTheLimitsOfAnotherTenant) {
  one_->searching.SetTenants({.named = {{"slow", {.requests_per_second = 0.001}}}, .others = {}});
  ASSERT_TRUE(one_->searching.Submit({.run = [](const absl::Status&) {}, .tenant = "slow"}).ok());
  while (one_->searching.load().running + one_->searching.load().waiting > 0) std::this_thread::yield();
  std::latch joined(1);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(one_->storing.Submit({.run = [&joined](const absl::Status&) { joined.wait(); }, .tenant = "x"}).ok());
  }
  Caller limited;
  one_->finder.Take(Of("slow", limited.Order(EasyTask(), searches_)));
  Caller other;
  one_->finder.Take(Of("fast", other.Order(EasyTask(), searches_)));
  joined.count_down();
  const absl::Status refused = limited.Wait().status();
  const absl::Status answered = other.Wait().status();
  EXPECT_TRUE(answered.ok()) << answered;
  // Unless the other search was there first, its limit is said to the one whom it holds for.
  EXPECT_TRUE(refused.ok() || refused.code() == absl::StatusCode::kResourceExhausted) << refused;
}

TEST_F(PlanFinderTest, InvalidRequestsHearOfTheirOwnMistakes) {
  v1::CreatePlanRequest request;
  request.set_graph_reference("zoo:bert-base");
  request.set_cluster_reference("zoo:pcie:2");
  request.mutable_problem()->set_num_stages(-1);
  Caller caller;
  finder_.Take(caller.Order(Task(request), searches_));
  EXPECT_EQ(caller.Wait().status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace planwright::server
