#include "server/serving/operations/operation_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/store/open_store.h"
#include "tests/server/store/turns.h"

namespace planwright::server {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

class OperationRunnerTest : public testing::Test {
 protected:
  OperationRunnerTest() { std::filesystem::create_directories(folder_); }
  ~OperationRunnerTest() override { std::filesystem::remove_all(folder_); }

  void Submit(const std::string& id, const std::string& tenant = "tenant") {
    ASSERT_TRUE(store_->Submit(tenant, {{id, "request " + id}, {}, ""}, Quota()).ok());
  }
  Operation Find(const std::string& id) { return store_->FindOperation("tenant", id, OperationView::kFull).value(); }
  // Waits for something that another thread does; gives up after a minute, which is a failure.
  template <typename Predicate>
  void WaitUntil(Predicate is_true) {
    bool was_true = is_true();
    for (int i = 0; i < 6000 && !was_true; ++i) {
      std::this_thread::sleep_for(milliseconds(10));
      was_true = is_true();
    }
    EXPECT_TRUE(was_true);
  }
  void WaitForEnd(const std::string& id) {
    WaitUntil([&] { return HasEnded(Find(id).state); });
  }

  std::unique_ptr<OperationRunner> Run(std::function<OperationEnd(OperationJob&)> work,
                                       const OperationRunner::Options& options = Quick()) {
    return std::make_unique<OperationRunner>(
        *store_, options,
        OperationRunner::Hooks{
            .work = std::move(work),
            .give_up =
                [](const Operation&) {
                  return OperationEnd{OperationState::kFailed, "given up", ""};
                },
            .on_event = [this](const Operation&, const char* event, const absl::Status&) { Record(event); }});
  }

  static OperationRunner::Options Quick() {
    OperationRunner::Options options;
    options.lease = milliseconds(60'000);
    options.idle_poll = milliseconds(20);
    options.save_interval = milliseconds(10);
    return options;
  }

  // Runs until it is told to stop, then says what it has.
  static OperationEnd WorkUntilStopped(OperationJob& job) {
    job.Save("incumbent", "progress");
    while (!job.stop().stop_requested()) std::this_thread::sleep_for(milliseconds(5));
    return {OperationState::kCancelled, "best so far", ""};
  }

  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / absl::StrCat("runner-", getpid());
  std::unique_ptr<Store> store_ = OpenStore("sqlite:" + (folder_ / "store.db").string(), /*migrate=*/false).value();
  // Of all workers; read when the runner has ended.
  std::vector<std::string> events_;

 private:
  void Record(const char* event) {
    const std::lock_guard lock(mutex_);
    events_.emplace_back(event);
  }

  std::mutex mutex_;
};

TEST_F(OperationRunnerTest, RunsWhatIsSubmittedInItsOrder) {
  std::vector<std::string> seen;
  Submit("a");
  auto runner = Run([&](OperationJob& job) {
    seen.push_back(job.operation().request);
    return OperationEnd{OperationState::kSucceeded, "plan", "short"};
  });
  WaitForEnd("a");
  Submit("b");
  runner->Wake();
  WaitForEnd("b");
  runner.reset();
  EXPECT_THAT(seen, ElementsAre("request a", "request b"));
  EXPECT_EQ(Find("b").result, "plan");
  EXPECT_THAT(events_, ElementsAre("ended", "ended"));
}

TEST_F(OperationRunnerTest, StopsWhatIsCancelledAndKeepsItsBest) {
  Submit("a");
  auto runner = Run(&WorkUntilStopped);
  WaitUntil([&] { return !Find("a").incumbent.empty(); });
  ASSERT_TRUE(store_->RequestCancel("tenant", "a").ok());
  WaitForEnd("a");
  EXPECT_EQ(Find("a").state, OperationState::kCancelled);
  EXPECT_EQ(Find("a").result, "best so far");
}

TEST_F(OperationRunnerTest, PutsItsWorkBackWhenItEnds) {
  Submit("a");
  auto runner = Run(&WorkUntilStopped);
  WaitUntil([&] { return Find("a").state == OperationState::kRunning; });
  runner.reset();
  EXPECT_EQ(Find("a").state, OperationState::kQueued);
  EXPECT_EQ(Find("a").incumbent, "incumbent");
  EXPECT_THAT(events_, ElementsAre("returned"));
}

TEST_F(OperationRunnerTest, LeavesItsWorkToWhoeverHasTakenItOver) {
  Submit("a");
  OperationRunner::Options options;
  options.lease = milliseconds(1);
  options.idle_poll = milliseconds(60'000);
  options.save_interval = milliseconds(200);
  auto runner = Run(&WorkUntilStopped, options);
  WaitUntil([&] { return Find("a").state == OperationState::kRunning; });
  std::optional<Operation> stolen;
  WaitUntil([&] {
    stolen = store_->TakeOperation(milliseconds(60'000), &ByName).value();
    return stolen.has_value();
  });
  WaitUntil([&] { return runner->running() == 0; });
  runner.reset();
  EXPECT_THAT(events_, ElementsAre("lost"));
  EXPECT_TRUE(store_->EndOperation("a", stolen->fence, {OperationState::kSucceeded, "theirs", ""}).ok());
  EXPECT_EQ(Find("a").result, "theirs");
}

TEST_F(OperationRunnerTest, TakesAWhileBeforeItTakesWhatItGaveUp) {
  Submit("a");
  OperationRunner::Options options = Quick();
  options.idle_poll = milliseconds(60'000);
  std::atomic<int> begun{0};
  auto runner = Run(
      [&](OperationJob&) {
        ++begun;
        return OperationEnd{OperationState::kCancelled, "", ""};
      },
      options);
  WaitUntil([&] { return begun > 0 && Find("a").state == OperationState::kQueued; });
  std::this_thread::sleep_for(milliseconds(50));
  runner.reset();
  EXPECT_EQ(begun, 1);
  EXPECT_THAT(events_, ElementsAre("returned"));
}

TEST_F(OperationRunnerTest, GivesUpWhatHasEndedTooManyServers) {
  Submit("a");
  for (int server = 0; server < 3; ++server) {
    const Operation taken = *store_->TakeOperation(milliseconds(60'000), &ByName).value();
    ASSERT_TRUE(store_->ReturnOperation("a", taken.fence).ok());
  }
  OperationRunner::Options options = Quick();
  options.max_attempts = 3;
  auto runner = Run(&WorkUntilStopped, options);
  WaitForEnd("a");
  EXPECT_EQ(Find("a").state, OperationState::kFailed);
  EXPECT_EQ(Find("a").result, "given up");
}

TEST_F(OperationRunnerTest, HeavierTenantsHaveMoreTurns) {
  for (int i = 0; i < 8; ++i) {
    Submit(absl::StrCat("heavy-", i), "heavy");
    Submit(absl::StrCat("light-", i), "light");
  }
  OperationRunner::Options options = Quick();
  options.tenants.named = {{"heavy", {.weight = 3}}};
  std::atomic<int64_t> now{1'000'000};
  options.now = [&now] { return std::chrono::steady_clock::time_point(milliseconds(now)); };
  std::vector<std::string> order;
  std::atomic<int> ended{0};
  auto runner = Run(
      [&](OperationJob& job) {
        order.push_back(job.operation().tenant);
        now += 90;
        ++ended;
        return OperationEnd{OperationState::kSucceeded, "plan", ""};
      },
      options);
  WaitUntil([&] { return ended >= 8; });
  runner.reset();
  order.resize(8);
  EXPECT_EQ(std::count(order.begin(), order.end(), "heavy"), 6);
}

TEST_F(OperationRunnerTest, NoTenantHasMoreThanItsLimit) {
  for (const char* id : {"a", "b"}) Submit(id);
  Submit("c", "other");
  OperationRunner::Options options = Quick();
  options.max_running = 3;
  options.tenants.named = {{"tenant", {.max_running = 1}}};
  auto runner = Run(&WorkUntilStopped, options);
  WaitUntil([&] { return runner->running() == 2; });
  // Whoever is idle has asked again by then.
  std::this_thread::sleep_for(5 * options.idle_poll);
  EXPECT_EQ(runner->running(), 2);
  runner->SetTenants({});
  WaitUntil([&] { return runner->running() == 3; });
}

TEST_F(OperationRunnerTest, RunsSeveralAtATime) {
  std::atomic<int> together{0};
  for (const char* id : {"a", "b", "c"}) Submit(id);
  OperationRunner::Options options = Quick();
  options.max_running = 3;
  const OperationRunner runner(*store_, options,
                               {.work =
                                    [&](OperationJob&) {
                                      ++together;
                                      while (together < 3) std::this_thread::sleep_for(milliseconds(1));
                                      return OperationEnd{OperationState::kSucceeded, "plan", ""};
                                    },
                                .give_up = nullptr,
                                .on_event = nullptr});
  for (const char* id : {"a", "b", "c"}) WaitForEnd(id);
}

}  // namespace
}  // namespace planwright::server
