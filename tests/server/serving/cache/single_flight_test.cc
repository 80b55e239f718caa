#include "server/serving/cache/single_flight.h"

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
using Flights = SingleFlight<std::string, Counter, std::string>;

Flights::TimePoint At(int second) { return Flights::TimePoint(seconds(second)); }

class SingleFlightTest : public testing::Test {
 protected:
  Flights::Seat Join(const std::string& key, int answer_by = 100, Counter* listener = nullptr,
                     const std::string& group = "a") {
    return flights_.Join(
        {.key = key, .group = group, .answer_by = At(answer_by), .patience = At(answer_by)},
        std::make_shared<std::string>(group + "'s work"),
        {.on_result = [this, group](const std::string& result) { results_.push_back(result); }, .listener = listener});
  }
  Flights::Seat JoinOf(const std::string& group, Counter* listener = nullptr) {
    return Join("a", 100, listener, group);
  }

  Flights flights_;
  std::vector<std::string> results_;
};

TEST_F(SingleFlightTest, TheFirstLeadsAndAllGetItsResult) {
  const Flights::Seat first = Join("a");
  const Flights::Seat second = Join("a");
  const Flights::Seat other = Join("b");
  EXPECT_TRUE(first.leads);
  EXPECT_FALSE(second.leads);
  EXPECT_TRUE(other.leads);
  EXPECT_EQ(flights_.open(), 2U);
  flights_.Complete(first.flight, "plan");
  EXPECT_THAT(results_, ElementsAre("plan", "plan"));
  EXPECT_EQ(flights_.open(), 1U);
}

TEST_F(SingleFlightTest, WhoeverComesAfterTheResultLeadsAnew) {
  flights_.Complete(Join("a").flight, "plan");
  EXPECT_TRUE(Join("a").leads);
}

TEST_F(SingleFlightTest, OneThatLeavesDoesNotDisturbTheOthers) {
  const Flights::Seat leader = Join("a");
  Join("a");
  EXPECT_TRUE(flights_.Leave(leader));
  EXPECT_FALSE(leader.flight->stop().stop_requested());
  EXPECT_FALSE(Join("a").leads);
  flights_.Complete(leader.flight, "plan");
  EXPECT_THAT(results_, ElementsAre("plan", "plan"));
}

TEST_F(SingleFlightTest, TheLastThatLeavesStopsTheWorkAndNobodyJoinsIt) {
  const Flights::Seat leader = Join("a");
  const Flights::Seat second = Join("a");
  EXPECT_TRUE(flights_.Leave(second));
  EXPECT_TRUE(flights_.Leave(leader));
  EXPECT_TRUE(leader.flight->stop().stop_requested());
  EXPECT_TRUE(Join("a").leads);
  flights_.Complete(leader.flight, "too late");
  EXPECT_THAT(results_, IsEmpty());
  // The new flight is not the one that ended.
  EXPECT_FALSE(Join("a").leads);
}

TEST_F(SingleFlightTest, LeavingAfterTheResultSaysSo) {
  const Flights::Seat seat = Join("a");
  flights_.Complete(seat.flight, "plan");
  EXPECT_FALSE(flights_.Leave(seat));
  EXPECT_FALSE(seat.flight->stop().stop_requested());
}

TEST_F(SingleFlightTest, NobodyWaitsForMoreTimeThanTheyHave) {
  const Flights::Seat patient = Join("a", 100);
  const Flights::Seat hurried = Join("a", 10);
  EXPECT_TRUE(hurried.leads);
  // Later callers join the flight that was opened last.
  EXPECT_EQ(Join("a", 20).flight, hurried.flight);
  flights_.Complete(patient.flight, "slow");
  EXPECT_FALSE(Join("a", 20).leads);
}

TEST_F(SingleFlightTest, TheImpatientMayTakeLongerThemselves) {
  const Flights::Seat leader = Join("a", 50);
  const auto join = [this](int patience) {
    return flights_.Join({.key = "a", .group = "a", .answer_by = At(100), .patience = At(patience)},
                         std::make_shared<std::string>(),
                         {.on_result = [](const std::string&) {}, .listener = nullptr});
  };
  EXPECT_TRUE(join(20).leads);
  EXPECT_FALSE(join(100).leads);
}

TEST_F(SingleFlightTest, ListenersHearEventsWhileTheyStay) {
  Counter first;
  Counter second;
  const Flights::Seat leader = Join("a", 100, &first);
  const Flights::Seat follower = Join("a", 100, &second);
  const auto publish = [&] { leader.flight->Publish([](Counter& counter) { ++counter.events; }); };
  publish();
  flights_.Leave(follower);
  publish();
  EXPECT_EQ(first.events, 2);
  EXPECT_EQ(second.events, 1);
}

TEST_F(SingleFlightTest, EachGroupHasOneTurnAndTheFirstThatComesBeginsTheWork) {
  const Flights::Seat first = JoinOf("a");
  const Flights::Seat same = JoinOf("a");
  const Flights::Seat other = JoinOf("b");
  ASSERT_NE(first.turn, nullptr);
  EXPECT_EQ(same.turn, nullptr);
  ASSERT_NE(other.turn, nullptr);
  EXPECT_FALSE(other.leads);
  // As the one that opened the flight described it.
  EXPECT_EQ(*other.flight->Begin(other.turn), "a's work");
  EXPECT_TRUE(first.turn->stop.stop_requested());
  EXPECT_FALSE(other.turn->stop.stop_requested());
  EXPECT_EQ(first.flight->Begin(first.turn), nullptr);
  // Nobody queues for what goes on.
  EXPECT_EQ(JoinOf("c").turn, nullptr);
  flights_.Complete(other.flight, "plan");
  EXPECT_EQ(results_.size(), 4U);
}

TEST_F(SingleFlightTest, ARefusedTurnIsSaidToItsGroupAlone) {
  const Flights::Seat first = JoinOf("a");
  JoinOf("a");
  const Flights::Seat other = JoinOf("b");
  flights_.Refuse(first.flight, first.turn, "refused");
  EXPECT_THAT(results_, ElementsAre("refused", "refused"));
  EXPECT_NE(other.flight->Begin(other.turn), nullptr);
  // One that comes back queues no more, and a turn is not refused when the work goes on.
  EXPECT_EQ(JoinOf("a").turn, nullptr);
  flights_.Refuse(other.flight, other.turn, "refused");
  flights_.Complete(other.flight, "plan");
  EXPECT_THAT(results_, ElementsAre("refused", "refused", "plan", "plan"));
}

TEST_F(SingleFlightTest, WhenTheLastTurnIsRefusedTheFlightIsOver) {
  const Flights::Seat first = JoinOf("a");
  const Flights::Seat other = JoinOf("b");
  flights_.Refuse(first.flight, first.turn, "a is refused");
  flights_.Refuse(other.flight, other.turn, "b is refused");
  EXPECT_THAT(results_, ElementsAre("a is refused", "b is refused"));
  EXPECT_EQ(flights_.open(), 0U);
  EXPECT_TRUE(JoinOf("a").leads);
}

TEST_F(SingleFlightTest, AGroupThatHasLeftLeavesTheLineToo) {
  const Flights::Seat first = JoinOf("a");
  const Flights::Seat second = JoinOf("a");
  const Flights::Seat other = JoinOf("b");
  EXPECT_TRUE(flights_.Leave(first));
  EXPECT_FALSE(first.turn->stop.stop_requested());
  EXPECT_TRUE(flights_.Leave(second));
  EXPECT_TRUE(first.turn->stop.stop_requested());
  // A new one of the group queues anew, and the old turn does not speak for it.
  const Flights::Seat again = JoinOf("a");
  ASSERT_NE(again.turn, nullptr);
  flights_.Refuse(first.flight, first.turn, "cancelled");
  EXPECT_THAT(results_, IsEmpty());
  // Whose turn began the work may leave: others wait for it.
  EXPECT_NE(again.flight->Begin(again.turn), nullptr);
  EXPECT_TRUE(flights_.Leave(again));
  EXPECT_FALSE(again.turn->stop.stop_requested());
  flights_.Complete(other.flight, "plan");
  EXPECT_THAT(results_, ElementsAre("plan"));
}

// A listener that takes long, such as one that encodes a plan.
struct SlowListener {
  std::latch started{1};
  std::latch released{1};
};

TEST(SingleFlightListenersTest, NobodyWaitsForTheListenersOfOthers) {
  using Slow = SingleFlight<std::string, SlowListener, std::string>;
  Slow flights;
  SlowListener listener;
  const auto join = [&flights](SlowListener* hears) {
    return flights.Join({.key = "a", .group = "a", .answer_by = At(100), .patience = At(100)},
                        std::make_shared<std::string>(), {.on_result = [](const std::string&) {}, .listener = hears});
  };
  const Slow::Seat seat = join(&listener);
  std::jthread telling([&seat] {
    seat.flight->Publish([](SlowListener& slow) {
      slow.started.count_down();
      slow.released.wait();
    });
  });
  listener.started.wait();
  // Others come and go meanwhile.
  const Slow::Seat other = join(nullptr);
  EXPECT_FALSE(other.leads);
  EXPECT_TRUE(flights.Leave(other));
  // Who leaves waits for its own listener.
  std::atomic<bool> has_left{false};
  const std::jthread leaving([&] {
    flights.Leave(seat);
    has_left = true;
  });
  EXPECT_FALSE(has_left);
  listener.released.count_down();
}

TEST(SingleFlightThreadsTest, EveryCallerIsToldOnceOrHasLeft) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 300;
  Flights flights;
  std::atomic<int> told{0};
  std::atomic<int> left{0};
  std::latch start(kThreads);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      start.arrive_and_wait();
      for (int round = 0; round < kRounds; ++round) {
        const std::string group = std::to_string((round + thread) % 2);
        const Flights::Seat seat = flights.Join(
            {.key = "key", .group = group, .answer_by = At(100), .patience = At(100)}, std::make_shared<std::string>(),
            {.on_result = [&told](const std::string&) { ++told; }, .listener = nullptr});
        if ((round + thread) % 3 == 0 && flights.Leave(seat)) ++left;
        if (seat.turn == nullptr) continue;
        if ((round + thread) % 5 == 0) {
          flights.Refuse(seat.flight, seat.turn, "refused");
        } else if (seat.flight->Begin(seat.turn) != nullptr) {
          flights.Complete(seat.flight, "plan");
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(told + left, kThreads * kRounds);
  EXPECT_EQ(flights.open(), 0U);
}

}  // namespace
}  // namespace planwright::server
