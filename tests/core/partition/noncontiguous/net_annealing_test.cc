#include "core/partition/noncontiguous/net_annealing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/partition/noncontiguous/net_descent.h"
#include "tests/core/partition/noncontiguous/net_case.h"

namespace planwright {
namespace {

SolveLimits Moves(int64_t moves) {
  SolveLimits limits;
  limits.work = moves;
  return limits;
}

NetAssignment Annealed(const NetTables& tables, int threads, int64_t seed) {
  const SolveLimits limits = Moves(13'000'000);
  TaskArena arena(threads);
  NetAnnealing annealing(tables, seed, limits, arena);
  while (annealing.RunBatch()) {
  }
  return annealing.incumbent();
}

void ExpectRunnable(const NetCase& test, const NetAnnealing& annealing) {
  if (annealing.incumbent().empty()) return;
  const NetState state(test.tables, annealing.incumbent());
  EXPECT_EQ(state.Objective(), annealing.incumbent_load());
  EXPECT_TRUE(state.fits_memory());
  for (int32_t group = 0; group < test.tables.num_groups(); ++group) {
    EXPECT_TRUE(test.tables.may_run(group, state.device_of(group)));
    EXPECT_GT(state.replicas(state.device_of(group)), 0);
  }
}

TEST(NetAnnealingTest, ThreadsChangeNothing) {
  const NetCase test(7, 200);
  const NetAssignment one = Annealed(test.tables, 1, 1);
  ASSERT_FALSE(one.empty());
  EXPECT_EQ(Annealed(test.tables, 2, 1), one);
  EXPECT_EQ(Annealed(test.tables, 4, 1), one);
}

TEST(NetAnnealingTest, RespectsMemoryPinsAndSupport) {
  int found = 0;
  for (uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    const NetCase test(seed, 40);
    RandomStream random(seed, 7);
    if (!test.RandomAssignment(random).has_value()) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(test.instance));
    const SolveLimits limits = Moves(200'000);
    TaskArena arena(1);
    NetAnnealing annealing(test.tables, 1, limits, arena);
    while (annealing.RunBatch()) {
    }
    EXPECT_LE(annealing.moves(), limits.work + 1000);
    ExpectRunnable(test, annealing);
    found += annealing.incumbent().empty() ? 0 : 1;
  }
  EXPECT_GT(found, 20);
}

TEST(NetAnnealingTest, NeverLosesWhatItIsOffered) {
  const NetCase test(7, 80);
  RandomStream random(11, 8);
  const std::optional<NetAssignment> start = test.RandomAssignment(random);
  ASSERT_TRUE(start.has_value());
  const SolveLimits limits = Moves(0);
  TaskArena arena(1);
  NetAnnealing annealing(test.tables, 1, limits, arena);
  annealing.Offer(*start);
  EXPECT_LE(annealing.incumbent_load(), NetState(test.tables, *start).Objective());
  EXPECT_FALSE(annealing.RunBatch());
  EXPECT_EQ(annealing.moves(), 0);
}

TEST(NetAnnealingTest, TakesMoreMemoryForMoreDevices) {
  NetCase test(7, 200);
  const int64_t bytes = NetAnnealing::BytesFor(test.net);
  EXPECT_GT(bytes, 10'000);
  EXPECT_LT(bytes, 10'000'000);
  test.net.devices.resize(1'000'000, test.net.devices.front());
  EXPECT_GT(NetAnnealing::BytesFor(test.net), 1000 * bytes);
}

TEST(NetAnnealingTest, StopsWhenAsked) {
  const NetCase test(7, 200);
  const std::stop_source source;
  source.request_stop();
  SolveLimits limits;
  limits.stop = source.get_token();
  TaskArena arena(1);
  NetAnnealing annealing(test.tables, 1, limits, arena);
  EXPECT_FALSE(annealing.RunBatch());
  EXPECT_LT(annealing.moves(), 10'000);
}

TEST(MultilevelStartTest, ClustersHaveADeviceAndRespectTheirSize) {
  for (uint64_t seed = 0; seed < 100 && !HasFailure(); ++seed) {
    const NetCase test(seed, 60);
    RandomStream random(seed, 9);
    if (!test.RandomAssignment(random).has_value()) continue;
    ClusterLimits limits;
    limits.max_share = 0.4;
    limits.load = 1 + NetState(test.tables, *test.RandomAssignment(random)).Objective();
    limits.enough_clusters = 5;
    const std::vector<int32_t> cluster_of = RandomClusters(test.tables, limits, random);
    const NetInstance contracted = ContractGroups(test.net, cluster_of);
    for (int32_t cluster = 0; cluster < contracted.num_groups(); ++cluster) {
      const auto& may_run = contracted.may_run[static_cast<std::size_t>(cluster)];
      EXPECT_NE(std::find(may_run.begin(), may_run.end(), true), may_run.end());
    }
    EXPECT_GE(contracted.num_groups(), std::min(limits.enough_clusters, test.net.num_groups()));
  }
}

}  // namespace
}  // namespace planwright
