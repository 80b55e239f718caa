#include "core/partition/noncontiguous/net_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/base/interruption.h"
#include "core/cost/plan_costing.h"
#include "tests/core/partition/noncontiguous/net_case.h"

namespace planwright {
namespace {

constexpr uint64_t kStateCases = 400;

// Loads and memory as the plan of the same assignment has them.
void ExpectCostedAlike(const NetCase& test, const NetState& state) {
  const Plan plan = CostPlan({test.instance.graph, test.instance.cluster, test.problem, test.costs},
                             test.PlacementOf(state.assignment()));
  EXPECT_EQ(state.Objective(), plan.objective.count());
  for (int32_t device = 0; device < test.tables.num_devices(); ++device) {
    const DeviceUsage& usage = plan.devices[test.net.devices[static_cast<std::size_t>(device)].device.index()];
    // A device that follows does what its leader does.
    if (state.replicas(device) == 0) continue;
    EXPECT_EQ(state.loads(device).total(), usage.load);
    if (!test.tables.memory_binds() || usage.stages.empty() || !usage.memory_limit_bytes.has_value()) continue;
    EXPECT_EQ(state.overflow(device), std::max<int64_t>(0, usage.memory_bytes - *usage.memory_limit_bytes));
  }
}

void ExpectEqual(const NetState& state, const NetState& fresh) {
  for (int32_t device = 0; device < state.tables().num_devices(); ++device) {
    EXPECT_EQ(state.work(device), fresh.work(device));
    EXPECT_EQ(state.loads(device).total(), fresh.loads(device).total());
    EXPECT_EQ(state.overflow(device), fresh.overflow(device));
  }
}

TEST(NetStateTest, IsNotMadeForWhoeverIsCancelled) {
  const NetCase test(/*seed=*/1);
  const std::stop_source source;
  source.request_stop();
  const NetAssignment assignment{std::vector<int32_t>(Index(test.tables.num_groups()), 0), {}};
  EXPECT_THROW(NetState(test.tables, assignment, source.get_token()), Interrupted);
}

TEST(NetStateTest, CostsWhatThePlanCosts) {
  int compared = 0;
  for (uint64_t seed = 0; seed < kStateCases && !HasFailure(); ++seed) {
    const NetCase test(seed);
    RandomStream random(seed, 2);
    const std::optional<NetAssignment> assignment = test.RandomAssignment(random);
    if (!assignment.has_value()) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(test.instance));
    ExpectCostedAlike(test, NetState(test.tables, *assignment));
    ++compared;
  }
  EXPECT_GT(compared, kStateCases / 2);
}

TEST(NetStateTest, FollowsMovesExactly) {
  for (uint64_t seed = 0; seed < kStateCases && !HasFailure(); ++seed) {
    const NetCase test(seed);
    RandomStream random(seed, 3);
    const std::optional<NetAssignment> start = test.RandomAssignment(random);
    if (!start.has_value() || test.tables.num_devices() < 2) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(test.instance));
    NetState state(test.tables, *start);
    MoveEffect effect;
    for (int move = 0; move < 30; ++move) {
      const auto group = static_cast<int32_t>(random.Below(static_cast<uint64_t>(test.tables.num_groups())));
      const auto to = static_cast<int32_t>(random.Below(static_cast<uint64_t>(test.tables.num_devices())));
      if (to == state.device_of(group) || !test.tables.may_run(group, to) || state.replicas(to) == 0) continue;
      state.Preview(group, to, effect);
      state.Move(group, to, effect);
      const NetState fresh(test.tables, state.assignment());
      ExpectEqual(state, fresh);
      EXPECT_EQ(state.num_groups_on(to), fresh.num_groups_on(to));
    }
  }
}

TEST(NetStateTest, TellsWhichMovesKeepMemory) {
  int kept = 0;
  int refused = 0;
  for (uint64_t seed = 0; seed < kStateCases && !HasFailure(); ++seed) {
    const NetCase test(seed);
    RandomStream random(seed, 4);
    const std::optional<NetAssignment> start = test.RandomAssignment(random);
    if (!start.has_value() || !test.tables.memory_binds()) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(test.instance));
    const NetState state(test.tables, *start);
    for (int32_t group = 0; group < test.tables.num_groups(); ++group) {
      const int32_t from = state.device_of(group);
      for (int32_t to = 0; to < test.tables.num_devices(); ++to) {
        if (to == from || !test.tables.may_run(group, to)) continue;
        MoveEffect effect;
        state.Preview(group, to, effect);
        NetState moved = state;
        moved.Move(group, to, effect);
        const bool keeps = moved.overflow(from) <= state.overflow(from) && moved.overflow(to) <= state.overflow(to);
        EXPECT_LE(state.KeepsMemory(group, to, effect), keeps);
        // The workspace of what leaves is counted as if it stayed.
        const bool is_exact = test.net.blocks.memory.workspace[static_cast<std::size_t>(group)] == 0;
        EXPECT_TRUE(!is_exact || state.KeepsMemory(group, to, effect) == keeps);
        (keeps ? kept : refused) += 1;
      }
    }
  }
  EXPECT_GT(kept, 100);
  EXPECT_GT(refused, 100);
}

TEST(NetInstanceTest, ContractionKeepsTheLoadsOfWhatItKeepsTogether) {
  for (uint64_t seed = 0; seed < kStateCases && !HasFailure(); ++seed) {
    const NetCase test(seed);
    RandomStream random(seed, 5);
    const auto groups = static_cast<uint64_t>(test.net.num_groups());
    // Label 0 first, so that all labels are in use.
    std::vector<int32_t> label_of;
    int32_t labels = 0;
    for (uint64_t group = 0; group < groups; ++group) {
      label_of.push_back(static_cast<int32_t>(random.Below(static_cast<uint64_t>(labels) + 1)));
      labels = std::max(labels, label_of.back() + 1);
    }
    const NetInstance contracted = ContractGroups(test.net, label_of);
    const NetTables tables(contracted);
    std::vector<int32_t> coarse;
    for (int32_t label = 0; label < labels; ++label) {
      coarse.push_back(static_cast<int32_t>(random.Below(static_cast<uint64_t>(tables.num_devices()))));
      if (!tables.may_run(label, coarse.back())) break;
    }
    if (std::ssize(coarse) < labels || !tables.may_run(labels - 1, coarse.back())) continue;
    std::vector<int32_t> fine;
    for (const int32_t label : label_of) fine.push_back(coarse[static_cast<std::size_t>(label)]);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(test.instance));
    ExpectEqual(NetState(tables, {coarse, {}}), NetState(test.tables, {fine, {}}));
  }
}

}  // namespace
}  // namespace planwright
