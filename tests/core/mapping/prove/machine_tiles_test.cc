#include "core/mapping/prove/machine_tiles.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "core/mapping/mapping.h"
#include "core/mapping/problem/evaluation.h"
#include "tests/reference/mapping/mapping_checks.h"

namespace planwright {
namespace {

MappingInstance MakeChain(int32_t stages, int32_t replicas, const Interconnect& interconnect) {
  MappingInstance instance{.replicas = StageReplicas(stages, replicas),
                           .device_kind = std::vector<int32_t>(Index(stages * replicas), 0),
                           .compute_ms = std::vector<double>(Index(stages), 1),
                           .allreduce_bytes = std::vector<double>(Index(stages), 1e6),
                           .network = Network(interconnect)};
  for (int32_t stage = 0; stage + 1 < stages; ++stage) {
    instance.traffic.push_back(
        {.from = stage, .to = stage + 1, .forward_bytes = 1e6 * (stage + 1), .forward_transfers = 1});
  }
  return instance;
}

GridInterconnect Torus(int32_t side) {
  return {.dimensions = {side, side},
          .wrap_around = true,
          .link_bandwidth_bytes_per_second = 1e9,
          .non_adjacent = GridInterconnect::NonAdjacent::kDividedByHops};
}

TEST(MachineTilesTest, EveryTileHasTheLinksOfTheFirst) {
  const MappingInstance instance = MakeChain(4, 36, Torus(12));
  const LinkTimes links(instance.network, instance.num_devices());
  const ReplicaModel model(instance, links);
  const SolveLimits limits;
  Poller poller(limits);
  const std::vector<MachineTiles> ways = TilesOf(model, 48, poller);
  ASSERT_FALSE(ways.empty());
  for (const MachineTiles& tiles : ways) {
    std::vector<bool> is_seen(instance.num_devices(), false);
    for (const std::vector<int32_t>& tile : tiles) {
      ASSERT_EQ(tile.size() % 4, 0U);
      ASSERT_EQ(tile.size(), tiles.front().size());
      for (std::size_t i = 0; i < tile.size(); ++i) {
        EXPECT_FALSE(is_seen[Index(tile[i])]);
        is_seen[Index(tile[i])] = true;
        if (i == 0) continue;
        EXPECT_EQ(model.ClassOf(tile[0], tile[i]), model.ClassOf(tiles.front()[0], tiles.front()[i]));
      }
    }
    EXPECT_EQ(tiles.size() * tiles.front().size(), instance.num_devices());
  }
}

TEST(MachineTilesTest, FindsNoneWhereLinksOrKindsDifferOrDevicesAreIdle) {
  const SolveLimits limits;
  Poller poller(limits);
  RandomStream random(1);
  MatrixInterconnect matrix;
  for (int32_t pair = 0; pair < 16 * 16; ++pair) {
    matrix.bandwidth_bytes_per_second.push_back(1e9 * static_cast<double>(random.Between(1, 50)));
  }
  MappingInstance irregular = MakeChain(4, 4, matrix);
  MappingInstance kinds = MakeChain(4, 4, Torus(4));
  kinds.num_kinds = 2;
  kinds.compute_ms = std::vector<double>(8, 1);
  kinds.device_kind[5] = 1;
  MappingInstance idle = MakeChain(4, 4, Torus(4));
  idle.replicas = StageReplicas(4, 3);
  for (const MappingInstance* instance : {&irregular, &kinds, &idle}) {
    const LinkTimes links(instance->network, instance->num_devices());
    EXPECT_TRUE(TilesOf(ReplicaModel(*instance, links), 8, poller).empty());
  }
}

// 1,024 devices: every replica lies on a path of the torus.
TEST(MachineTilesTest, SolveALargeMachineAtOnce) {
  TaskArena arena(1);
  const MappingInstance instance = MakeChain(4, 256, Torus(32));
  SolveLimits limits;
  limits.work = 200'000;
  const auto outcome = MapStages(instance, {}, limits, arena, [](const MappingOutcome&) {});
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(IsMapping(instance, outcome->mapping));
  EXPECT_EQ(outcome->value, Evaluate(instance, outcome->mapping));
  EXPECT_TRUE(outcome->proven);
  EXPECT_DOUBLE_EQ(outcome->value.value_ms, 1 + 2 + 3);
}

}  // namespace
}  // namespace planwright
