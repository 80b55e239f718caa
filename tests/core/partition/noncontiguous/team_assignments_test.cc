#include "core/partition/noncontiguous/team_assignments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "core/base/index.h"
#include "core/partition/noncontiguous/net_annealer.h"
#include "tests/core/partition/noncontiguous/net_case.h"

namespace planwright {
namespace {

constexpr uint64_t kTeamCases = 300;

TEST(NetTeamsTest, PlacementsComeBackAsTheyWere) {
  int compared = 0;
  for (uint64_t seed = 0; seed < kTeamCases && !HasFailure(); ++seed) {
    const NetCase test(seed);
    RandomStream random(seed, 11);
    const std::optional<NetAssignment> assignment = test.RandomAssignment(random);
    if (!assignment.has_value()) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(test.instance));
    const NetAssignment back = AssignmentOf(test.net, test.PlacementOf(*assignment));
    EXPECT_EQ(back.device_of, assignment->device_of);
    EXPECT_EQ(NetState(test.tables, back).Objective(), NetState(test.tables, *assignment).Objective());
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

TEST(NetTeamsTest, RandomTeamsUseTheDevicesOfTheirPool) {
  int teams = 0;
  for (uint64_t seed = 0; seed < kTeamCases; ++seed) {
    const NetCase test(seed);
    RandomStream random(seed, 12);
    const std::vector<int32_t> replicas = RandomTeams(test.tables, random);
    std::vector<int32_t> members(test.net.blocks.pools.size(), 0);
    for (int32_t device = 0; device < test.tables.num_devices(); ++device) {
      members[test.tables.pool_of(device)] += replicas[Index(device)];
      if (replicas[Index(device)] > 1) ++teams;
    }
    for (std::size_t pool = 0; pool < members.size(); ++pool) {
      EXPECT_EQ(members[pool], static_cast<int32_t>(test.net.blocks.pools[pool].devices.size()));
    }
  }
  EXPECT_GT(teams, 50);
}

TEST(NetTeamsTest, AnnealingKeepsTeamsWithinTheirPools) {
  int changed = 0;
  for (uint64_t seed = 0; seed < kTeamCases && !HasFailure(); ++seed) {
    const NetCase test(seed);
    RandomStream random(seed, 13);
    const std::optional<NetAssignment> start = test.RandomAssignment(random);
    if (!start.has_value() || !test.tables.replicates()) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(test.instance));
    const SolveLimits limits;
    Poller poller(limits);
    const AnnealingResult result =
        Anneal(test.tables, *start, NetState(test.tables, *start).Objective() + 1, {}, 20'000, random, poller);
    const NetState last(test.tables, result.last);
    EXPECT_EQ(last.Objective(), result.last_load);
    EXPECT_EQ(std::accumulate(result.last.replicas.begin(), result.last.replicas.end(), 0), test.tables.num_devices());
    for (int32_t group = 0; group < test.tables.num_groups(); ++group)
      EXPECT_GT(last.replicas(last.device_of(group)), 0);
    if (result.last.replicas != start->replicas) ++changed;
    if (result.best.empty()) continue;
    EXPECT_EQ(NetState(test.tables, result.best).Objective(), result.best_load);
  }
  EXPECT_GT(changed, 10);
}

}  // namespace
}  // namespace planwright
