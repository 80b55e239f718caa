// What a search over stages of replicas in turn does with large graphs and little time.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/polling.h"
#include "core/joint/roundrobin/again_choice.h"
#include "core/joint/roundrobin/ideal_list.h"
#include "core/joint/roundrobin/round_robin_search.h"

namespace planwright {
namespace {

// So many operators of 10 ps and 1 byte, without an edge, for eight devices.
RoundRobinInstance Apart(std::size_t count) {
  RoundRobinInstance instance;
  instance.tensor_degrees = {1};
  instance.data_degrees = {1, 2, 4};
  instance.micro_batches = 4;
  instance.devices = 8;
  instance.memories = {{.bytes = int64_t{1} << 40, .devices = 8}};
  instance.edge_bytes.resize(1);
  instance.operators.resize(1);
  for (std::size_t op = 0; op < count; ++op) {
    instance.ids.emplace_back(op);
    instance.operators.front().emplace_back(RoundRobinOperator{.forward_ps = 10, .kept_bytes = 1, .again = {}});
  }
  return instance;
}

SolveLimits Passed() {
  SolveLimits limits;
  limits.deadline = SolveLimits::Clock::now() - std::chrono::seconds(1);
  return limits;
}

// All sets of two of them would be 8 million.
TEST(IdealListTest, OneOrderOfOperatorsThatWaitForNothing) {
  const IdealList list = IdealsOf(Apart(4'000), 4'096);
  EXPECT_FALSE(list.is_complete);
  ASSERT_EQ(list.ideals.size(), 4'001);
  for (std::size_t i = 1; i < list.ideals.size(); ++i) ASSERT_TRUE(list.ideals[i].Holds(list.ideals[i - 1]));
}

TEST(IdealListTest, AllOfThemUpToTheMost) {
  EXPECT_EQ(IdealsOf(Apart(5), 32).ideals.size(), 32);
  EXPECT_TRUE(IdealsOf(Apart(5), 32).is_complete);
  EXPECT_FALSE(IdealsOf(Apart(5), 31).is_complete);
}

TEST(IdealListTest, PiecesDivideTheWorkOfOneOrder) {
  RoundRobinInstance instance = Apart(1'000);
  // The last in the order has half of the work.
  instance.operators.front().front()->forward_ps = 10'000;
  const IdealList list = PiecesOf(instance, 8);
  EXPECT_FALSE(list.is_complete);
  // Shares that end in one operator are one piece.
  ASSERT_EQ(list.ideals.size(), 5);
  EXPECT_FALSE(list.ideals[3].Has(0));
  EXPECT_TRUE(list.ideals[4].Has(0));
  EXPECT_EQ(PiecesOf(Apart(5), 8).ideals.size(), 6);
  EXPECT_EQ(PiecesOf(Apart(5), 1).ideals.size(), 2);
  EXPECT_EQ(IdealsOf(Apart(10'000), 4'096).ideals.size(), 4'096);
}

TEST(RoundRobinSearchTest, FirstPlansNeedLittleTime) {
  // Two chains have 62,500 ideals.
  RoundRobinInstance instance = Apart(500);
  for (int32_t op = 0; op + 2 < 500; ++op) instance.edges.push_back({op, op + 2});
  instance.edge_bytes.front().assign(instance.edges.size(), {1, 1});
  instance.bytes_per_second = 1'000'000'000'000;
  SolveLimits limits;
  limits.deadline = SolveLimits::Clock::now() + std::chrono::seconds(1);
  const RoundRobinOutcome outcome = SearchRoundRobin(instance, 0, limits);
  ASSERT_TRUE(outcome.stages.has_value());
  EXPECT_LE(outcome.load_ps, 2 * outcome.bound_ps);
}

// Devices of four sizes in more ways than labels are kept for: what is proven holds, and every stage has its devices.
TEST(RoundRobinSearchTest, ManyWaysToShareOutMemory) {
  RoundRobinInstance instance = Apart(150);
  instance.devices = 64;
  instance.micro_batches = 64;
  instance.data_degrees = {1, 2, 4, 8, 16};
  for (int32_t op = 0; op < 150; ++op) {
    RoundRobinOperator& each = *instance.operators.front()[static_cast<std::size_t>(op)];
    each.forward_ps = 10 + op % 7;
    each.kept_bytes = 1 + op % 5;
    if (op > 0) instance.edges.push_back({op - 1, op});
  }
  instance.edge_bytes.front().assign(instance.edges.size(), {1, 1});
  instance.bytes_per_second = 1'000'000'000'000;
  instance.memories = {{200, 8}, {160, 24}, {120, 40}, {80, 64}};
  instance.most_memory_bytes = 200;
  SolveLimits limits;
  limits.deadline = SolveLimits::Clock::now() + std::chrono::seconds(2);
  const RoundRobinOutcome outcome = SearchRoundRobin(instance, 1e-2, limits);
  ASSERT_TRUE(outcome.stages.has_value());
  EXPECT_LE(outcome.bound_ps, outcome.load_ps);
  const RoundRobinOutcome most = SearchRoundRobin(WithMostMemory(instance), 0, SolveLimits());
  ASSERT_TRUE(most.stages.has_value());
  EXPECT_GE(outcome.load_ps, most.bound_ps);
  for (std::size_t memory = 0; memory < instance.memories.size(); ++memory) {
    int64_t devices = 0;
    for (const RoundRobinStage& stage : *outcome.stages) devices += stage.memory <= memory ? stage.data_degree : 0;
    EXPECT_LE(devices, instance.memories[memory].devices);
  }
}

TEST(RoundRobinSearchTest, WithoutTimeNothingIsFoundOrProven) {
  const SolveLimits limits = Passed();
  const RoundRobinOutcome outcome = SearchRoundRobin(Apart(400), 0, limits);
  EXPECT_TRUE(outcome.is_interrupted);
  EXPECT_FALSE(outcome.is_proven);
  EXPECT_FALSE(outcome.stages.has_value());
}

TEST(ChooseAgainTest, WithoutTimeTheFirstChoiceThatFitsIsTaken) {
  const SolveLimits limits = Passed();
  Poller poller(limits);
  ASSERT_TRUE(poller.ShouldStopNow());
  // Two of the first three are needed.
  const std::vector<AgainItem> items = {{0, 10, 10}, {1, 11, 10}, {2, 12, 10}, {3, 13, 9}};
  const AgainChoice any = ChooseAgain(items, 20, 1'000, AgainAim::kAny, poller);
  EXPECT_FALSE(any.operators.has_value());
  EXPECT_FALSE(any.is_certain);
  const AgainChoice least = ChooseAgain(items, 20, 1'000, AgainAim::kLeast, poller);
  EXPECT_EQ(least.operators, (std::vector<int32_t>{0, 1}));
}

}  // namespace
}  // namespace planwright
