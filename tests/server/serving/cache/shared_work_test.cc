#include "server/serving/cache/shared_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace planwright::server {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

// Counts the events that it is told.
struct Counter {
  std::atomic<int> events{0};
};
using Works = SharedWork<std::string, Counter, std::string>;

Works::TimePoint AtSecond(int second) { return Works::TimePoint(seconds(second)); }

class SharedWorkTest : public testing::Test {
 protected:
  Works::Share Join(const std::string& key, int answer_by = 100, Counter* listener = nullptr,
                    const std::string& group = "a") {
    return pieces_.Join(
        {.key = key, .group = group, .answer_by = AtSecond(answer_by), .patience = AtSecond(answer_by)},
        std::make_shared<std::string>(group + "'s work"),
        {.on_result = [this, group](const std::string& result) { results_.push_back(result); }, .listener = listener});
  }
  Works::Share JoinOf(const std::string& group, Counter* listener = nullptr) { return Join("a", 100, listener, group); }

  Works pieces_;
  std::vector<std::string> results_;
};

TEST_F(SharedWorkTest, TheFirstLeadsAndAllGetItsResult) {
  const Works::Share first = Join("a");
  const Works::Share second = Join("a");
  const Works::Share other = Join("b");
  EXPECT_TRUE(first.leads);
  EXPECT_FALSE(second.leads);
  EXPECT_TRUE(other.leads);
  EXPECT_EQ(pieces_.open(), 2U);
  pieces_.Complete(first.piece, "plan");
  EXPECT_THAT(results_, ElementsAre("plan", "plan"));
  EXPECT_EQ(pieces_.open(), 1U);
}

TEST_F(SharedWorkTest, WhoeverComesAfterTheResultLeadsAnew) {
  pieces_.Complete(Join("a").piece, "plan");
  EXPECT_TRUE(Join("a").leads);
}

TEST_F(SharedWorkTest, OneThatLeavesDoesNotDisturbTheOthers) {
  const Works::Share leader = Join("a");
  Join("a");
  EXPECT_TRUE(pieces_.Leave(leader));
  EXPECT_FALSE(leader.piece->stop().stop_requested());
  EXPECT_FALSE(Join("a").leads);
  pieces_.Complete(leader.piece, "plan");
  EXPECT_THAT(results_, ElementsAre("plan", "plan"));
}

TEST_F(SharedWorkTest, TheLastThatLeavesStopsTheWorkAndNobodyJoinsIt) {
  const Works::Share leader = Join("a");
  const Works::Share second = Join("a");
  EXPECT_TRUE(pieces_.Leave(second));
  EXPECT_TRUE(pieces_.Leave(leader));
  EXPECT_TRUE(leader.piece->stop().stop_requested());
  EXPECT_TRUE(Join("a").leads);
  pieces_.Complete(leader.piece, "too late");
  EXPECT_THAT(results_, IsEmpty());
  // The new piece is not the one that ended.
  EXPECT_FALSE(Join("a").leads);
}

TEST_F(SharedWorkTest, WorkStopsForOneThatIsAloneAndGetsTheResult) {
  const Works::Share share = Join("a");
  EXPECT_FALSE(pieces_.StopFor(share)) << "it has not begun";
  ASSERT_NE(share.piece->Begin(share.turn), nullptr);
  const Works::Share other = Join("a");
  EXPECT_FALSE(pieces_.StopFor(share)) << "somebody else waits";
  pieces_.Leave(other);
  EXPECT_FALSE(share.piece->stop().stop_requested());
  EXPECT_TRUE(pieces_.StopFor(share));
  EXPECT_TRUE(share.piece->stop().stop_requested());
  EXPECT_TRUE(Join("a").leads) << "nobody joins what is about to stop";
  pieces_.Complete(share.piece, "half a plan");
  EXPECT_THAT(results_, ElementsAre("half a plan"));
  EXPECT_FALSE(pieces_.StopFor(share)) << "it has ended";
}

TEST_F(SharedWorkTest, LeavingAfterTheResultSaysSo) {
  const Works::Share share = Join("a");
  pieces_.Complete(share.piece, "plan");
  EXPECT_FALSE(pieces_.Leave(share));
  EXPECT_FALSE(share.piece->stop().stop_requested());
}

TEST_F(SharedWorkTest, NobodyWaitsForMoreTimeThanTheyHave) {
  const Works::Share patient = Join("a", 100);
  const Works::Share hurried = Join("a", 10);
  EXPECT_TRUE(hurried.leads);
  // Later callers join the piece that was opened last.
  EXPECT_EQ(Join("a", 20).piece, hurried.piece);
  pieces_.Complete(patient.piece, "slow");
  EXPECT_FALSE(Join("a", 20).leads);
}

TEST_F(SharedWorkTest, TheImpatientMayTakeLongerThemselves) {
  const Works::Share leader = Join("a", 50);
  const auto join = [this](int patience) {
    return pieces_.Join({.key = "a", .group = "a", .answer_by = AtSecond(100), .patience = AtSecond(patience)},
                        std::make_shared<std::string>(), {.on_result = [](const std::string&) {}, .listener = nullptr});
  };
  EXPECT_TRUE(join(20).leads);
  EXPECT_FALSE(join(100).leads);
}

TEST_F(SharedWorkTest, ListenersHearEventsWhileTheyStay) {
  Counter first;
  Counter second;
  const Works::Share leader = Join("a", 100, &first);
  const Works::Share follower = Join("a", 100, &second);
  const auto publish = [&] { leader.piece->Publish([](Counter& counter) { ++counter.events; }); };
  publish();
  pieces_.Leave(follower);
  publish();
  EXPECT_EQ(first.events, 2);
  EXPECT_EQ(second.events, 1);
}

TEST_F(SharedWorkTest, WhoComesLaterIsToldTheLastEventOfEachKindThatIsKept) {
  const auto add = [](int events) { return [events](Counter& counter) { counter.events += events; }; };
  const Works::Share first = Join("a");
  first.piece->PublishAndKeep(0, add(1000));
  first.piece->PublishAndKeep(0, add(100));
  first.piece->PublishAndKeep(1, add(10));
  first.piece->Publish(add(10'000));
  Counter counter;
  const Works::Share second = Join("a", 100, &counter);
  EXPECT_EQ(counter.events, 110);
  first.piece->PublishAndKeep(1, add(1));
  EXPECT_EQ(counter.events, 111);
  EXPECT_TRUE(pieces_.Leave(second));
  pieces_.Complete(first.piece, "plan");
  EXPECT_EQ(counter.events, 111);
}

TEST_F(SharedWorkTest, EachGroupHasOneTurnAndTheFirstThatComesBeginsTheWork) {
  const Works::Share first = JoinOf("a");
  const Works::Share same = JoinOf("a");
  const Works::Share other = JoinOf("b");
  ASSERT_NE(first.turn, nullptr);
  EXPECT_EQ(same.turn, nullptr);
  ASSERT_NE(other.turn, nullptr);
  EXPECT_FALSE(other.leads);
  // As the one that opened the piece described it.
  EXPECT_EQ(*other.piece->Begin(other.turn), "a's work");
  EXPECT_TRUE(first.turn->stop.stop_requested());
  EXPECT_FALSE(other.turn->stop.stop_requested());
  EXPECT_EQ(first.piece->Begin(first.turn), nullptr);
  // Nobody queues for what goes on.
  EXPECT_EQ(JoinOf("c").turn, nullptr);
  pieces_.Complete(other.piece, "plan");
  EXPECT_EQ(results_.size(), 4U);
}

TEST_F(SharedWorkTest, ARefusedTurnIsSaidToItsGroupAlone) {
  const Works::Share first = JoinOf("a");
  JoinOf("a");
  const Works::Share other = JoinOf("b");
  pieces_.Refuse(first.piece, first.turn, "refused");
  EXPECT_THAT(results_, ElementsAre("refused", "refused"));
  EXPECT_NE(other.piece->Begin(other.turn), nullptr);
  // One that comes back queues no more, and a turn is not refused when the work goes on.
  EXPECT_EQ(JoinOf("a").turn, nullptr);
  pieces_.Refuse(other.piece, other.turn, "refused");
  pieces_.Complete(other.piece, "plan");
  EXPECT_THAT(results_, ElementsAre("refused", "refused", "plan", "plan"));
}

TEST_F(SharedWorkTest, WhenTheLastTurnIsRefusedTheWorkIsOver) {
  const Works::Share first = JoinOf("a");
  const Works::Share other = JoinOf("b");
  pieces_.Refuse(first.piece, first.turn, "a is refused");
  pieces_.Refuse(other.piece, other.turn, "b is refused");
  EXPECT_THAT(results_, ElementsAre("a is refused", "b is refused"));
  EXPECT_EQ(pieces_.open(), 0U);
  EXPECT_TRUE(JoinOf("a").leads);
}

TEST_F(SharedWorkTest, AGroupThatHasLeftLeavesTheLineToo) {
  const Works::Share first = JoinOf("a");
  const Works::Share second = JoinOf("a");
  const Works::Share other = JoinOf("b");
  EXPECT_TRUE(pieces_.Leave(first));
  EXPECT_FALSE(first.turn->stop.stop_requested());
  EXPECT_TRUE(pieces_.Leave(second));
  EXPECT_TRUE(first.turn->stop.stop_requested());
  // A new one of the group queues anew, and the old turn does not speak for it.
  const Works::Share again = JoinOf("a");
  ASSERT_NE(again.turn, nullptr);
  pieces_.Refuse(first.piece, first.turn, "cancelled");
  EXPECT_THAT(results_, IsEmpty());
  // Whose turn began the work may leave: others wait for it.
  EXPECT_NE(again.piece->Begin(again.turn), nullptr);
  EXPECT_TRUE(pieces_.Leave(again));
  EXPECT_FALSE(again.turn->stop.stop_requested());
  pieces_.Complete(other.piece, "plan");
  EXPECT_THAT(results_, ElementsAre("plan"));
}

// The turn has come already, but nobody of its group waits any more.
TEST_F(SharedWorkTest, ATurnThatNobodyWaitsForDoesNotBeginTheWorkOfOthers) {
  const Works::Share first = JoinOf("a");
  const Works::Share other = JoinOf("b");
  EXPECT_TRUE(pieces_.Leave(first));
  EXPECT_EQ(first.piece->Begin(first.turn), nullptr);
  EXPECT_FALSE(other.turn->stop.stop_requested());
  EXPECT_EQ(*other.piece->Begin(other.turn), "a's work");
  pieces_.Complete(other.piece, "plan");
  EXPECT_THAT(results_, ElementsAre("plan"));
}

// A listener that takes long, such as one that encodes a plan.
struct SlowListener {
  std::latch started{1};
  std::latch released{1};
};

TEST(SharedWorkListenersTest, NobodyWaitsForTheListenersOfOthers) {
  using Slow = SharedWork<std::string, SlowListener, std::string>;
  Slow pieces;
  SlowListener listener;
  const auto join = [&pieces](SlowListener* hears) {
    return pieces.Join({.key = "a", .group = "a", .answer_by = AtSecond(100), .patience = AtSecond(100)},
                       std::make_shared<std::string>(), {.on_result = [](const std::string&) {}, .listener = hears});
  };
  const Slow::Share share = join(&listener);
  const std::jthread telling([&share] {
    share.piece->Publish([](SlowListener& slow) {
      slow.started.count_down();
      slow.released.wait();
    });
  });
  listener.started.wait();
  // Others come and go meanwhile.
  const Slow::Share other = join(nullptr);
  EXPECT_FALSE(other.leads);
  EXPECT_TRUE(pieces.Leave(other));
  // Who leaves waits for its own listener.
  std::atomic<bool> has_left{false};
  const std::jthread leaving([&] {
    pieces.Leave(share);
    has_left = true;
  });
  EXPECT_FALSE(has_left);
  listener.released.count_down();
}

TEST(SharedWorkThreadsTest, EveryCallerIsToldOnceOrHasLeft) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 300;
  Works pieces;
  std::atomic<int> told{0};
  std::atomic<int> left{0};
  std::latch start(kThreads);
  std::vector<std::jthread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      start.arrive_and_wait();
      for (int round = 0; round < kRounds; ++round) {
        const std::string group = std::to_string((round + thread) % 2);
        const Works::Share share =
            pieces.Join({.key = "key", .group = group, .answer_by = AtSecond(100), .patience = AtSecond(100)},
                        std::make_shared<std::string>(),
                        {.on_result = [&told](const std::string&) { ++told; }, .listener = nullptr});
        if ((round + thread) % 3 == 0 && pieces.Leave(share)) ++left;
        if (share.turn == nullptr) continue;
        if ((round + thread) % 5 == 0) {
          pieces.Refuse(share.piece, share.turn, "refused");
        } else if (share.piece->Begin(share.turn) != nullptr) {
          pieces.Complete(share.piece, "plan");
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(told + left, kThreads * kRounds);
  EXPECT_EQ(pieces.open(), 0U);
}

}  // namespace
}  // namespace planwright::server
