#include "core/mapping/problem/mapping_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/mapping/problem/evaluation.h"
#include "core/mapping/problem/mapping_penalties.h"
#include "tests/reference/mapping/mapping_checks.h"
#include "tests/support/mapping_cases.h"

namespace planwright {
namespace {

constexpr uint64_t kStateCases = 300;
constexpr int kMovesOfState = 40;

// One out of three has replicas that do not pair off.
MappingInstance MakeInstance(uint64_t i, RandomStream& random) {
  return i % 3 == 0 ? MakeUnevenMappingInstance(12, random) : MakeRandomMappingInstance(12, random);
}

// Exchanges at random, turns a part of a ring around, or lets two replicas change places; may do nothing.
void MoveAtRandom(MappingState& state, RandomStream& random) {
  const MappingInstance& instance = state.tables().instance();
  if (instance.HasRings() && instance.free_ring_order && random.Below(3) == 0) {
    const auto stage = static_cast<int32_t>(random.Below(Index(instance.num_stages())));
    const auto vertex = [&] {
      return static_cast<int32_t>(
          instance.VertexOf(stage, static_cast<int32_t>(random.Below(Index(instance.replicas.Of(stage))))));
    };
    const int32_t a = vertex();
    const int32_t b = vertex();
    if (random.Below(2) == 0) {
      state.ReverseRing(a, b);
    } else if (state.MayExchange(state.device(a), state.device(b))) {
      state.ExchangeReplicas(a, b);
    }
    return;
  }
  const std::vector<DeviceId>& devices = state.tables().devices();
  const DeviceId a = devices[random.Below(devices.size())];
  const DeviceId b = devices[random.Below(devices.size())];
  if (state.MayExchange(a, b)) state.Exchange(a, b);
}

void ExpectSame(const MappingState& state, const MappingState& fresh) {
  const auto vertices = static_cast<int32_t>(state.tables().instance().num_vertices());
  for (int32_t vertex = 0; vertex < vertices; ++vertex) {
    EXPECT_EQ(state.load(vertex), fresh.load(vertex));
    EXPECT_EQ(state.ring_time(vertex), fresh.ring_time(vertex));
    EXPECT_EQ(state.device(vertex), fresh.device(vertex));
    EXPECT_EQ(state.vertex_on(state.device(vertex)), vertex);
    if (!state.tables().instance().HasRings()) continue;
    EXPECT_EQ(state.previous_on_ring(state.next_on_ring(vertex)), vertex);
  }
}

TEST(MappingStateTest, FollowsMovesLikeAFreshState) {
  TaskArena arena(1);
  RandomStream random(1);
  for (uint64_t i = 0; i < kStateCases; ++i) {
    SCOPED_TRACE(i);
    const MappingInstance instance = MakeInstance(i, random);
    const std::optional<Mapping> start = MakeRandomMapping(instance, random);
    if (!start.has_value()) continue;
    const MappingTables tables(instance, SolveLimits(), arena);
    MappingState state(tables, *start);
    EXPECT_EQ(state.ToMapping(), *start);
    for (int move = 0; move < kMovesOfState; ++move) {
      const Mapping before = state.ToMapping();
      MoveAtRandom(state, random);
      if (random.Below(2) == 0) MoveAtRandom(state, random);
      if (random.Below(2) == 0) {
        state.Undo();
        EXPECT_EQ(state.ToMapping(), before);
      } else {
        state.Accept();
      }
      const Mapping now = state.ToMapping();
      ASSERT_TRUE(IsMapping(instance, now));
      ExpectSame(state, MappingState(tables, now));
    }
  }
}

// Loads are those of the evaluation, to the last bit.
TEST(MappingStateTest, LoadsAreThoseOfTheEvaluation) {
  TaskArena arena(1);
  RandomStream random(2);
  for (uint64_t i = 0; i < kStateCases; ++i) {
    SCOPED_TRACE(i);
    const MappingInstance instance = MakeInstance(i, random);
    if (instance.objective == MappingObjective::kAllReduce) continue;
    const std::optional<Mapping> mapping = MakeRandomMapping(instance, random);
    if (!mapping.has_value()) continue;
    const MappingTables tables(instance, SolveLimits(), arena);
    const MappingState state(tables, *mapping);
    const std::vector<MappedWork> work = WorkOfReplicas(instance, tables.links(), *mapping);
    for (std::size_t vertex = 0; vertex < work.size(); ++vertex) {
      EXPECT_EQ(state.load(static_cast<int32_t>(vertex)), work[vertex].LoadMs(instance.overlap));
    }
  }
}

// What Preview says about moves is what the energy changes by, and no mapping without violations misses the target.
TEST(MappingPenaltiesTest, PreviewsWhatFreshPenaltiesSay) {
  TaskArena arena(1);
  RandomStream random(3);
  for (uint64_t i = 0; i < kStateCases; ++i) {
    SCOPED_TRACE(i);
    MappingInstance instance = MakeInstance(i, random);
    instance.allreduce_hops.clear();
    const std::optional<Mapping> start = MakeRandomMapping(instance, random);
    if (!start.has_value()) continue;
    const MappingTables tables(instance, SolveLimits(), arena);
    MappingState state(tables, *start);
    const double target = Evaluate(instance, *start).value_ms * (0.5 + 0.7 * random.Unit());
    MappingPenalties penalties(state, target);
    for (int move = 0; move < kMovesOfState; ++move) {
      MoveAtRandom(state, random);
      penalties.Preview();
      if (random.Below(2) == 0) {
        state.Undo();
        continue;
      }
      penalties.Accept();
      state.Accept();
      const double value = Evaluate(instance, state.ToMapping()).value_ms;
      if (penalties.num_violations() <= 16) {
        EXPECT_TRUE(penalties.IsBelow(std::max(value, target) * (1 + 1e-9)));
      }
      EXPECT_FALSE(value > target && penalties.IsBelow(value * (1 - 1e-9)));
      const std::size_t violations = penalties.num_violations();
      penalties.Rebudget();
      if (instance.objective == MappingObjective::kLoad) {
        EXPECT_EQ(violations, penalties.num_violations());
      }
      if (penalties.num_violations() == 0) {
        EXPECT_LE(value, target * (1 + 1e-9));
      }
    }
  }
}

}  // namespace
}  // namespace planwright
