#include "server/serving/single_flight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
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
using Flights = SingleFlight<std::string, Counter>;

Flights::TimePoint At(int second) { return Flights::TimePoint(seconds(second)); }

class SingleFlightTest : public testing::Test {
 protected:
  Flights::Seat Join(const std::string& key, int answer_by = 100, Counter* listener = nullptr) {
    return flights_.Join(
        key, At(answer_by), At(answer_by),
        {.on_result = [this](const std::string& result) { results_.push_back(result); }, .listener = listener});
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
  const auto ignore = [](const std::string&) {};
  EXPECT_TRUE(flights_.Join("a", At(100), At(20), {.on_result = ignore, .listener = nullptr}).leads);
  EXPECT_FALSE(flights_.Join("a", At(100), At(100), {.on_result = ignore, .listener = nullptr}).leads);
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
        const Flights::Seat seat = flights.Join(
            "key", At(100), At(100), {.on_result = [&told](const std::string&) { ++told; }, .listener = nullptr});
        if ((round + thread) % 3 == 0 && flights.Leave(seat)) ++left;
        if (seat.leads) flights.Complete(seat.flight, "plan");
      }
    });
  }
  threads.clear();
  EXPECT_EQ(told + left, kThreads * kRounds);
  EXPECT_EQ(flights.open(), 0U);
}

}  // namespace
}  // namespace planwright::server
