#include "core/mapping/anneal/mapping_annealer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "tests/reference/mapping/mapping_checks.h"
#include "tests/support/mapping_cases.h"

namespace planwright {
namespace {

constexpr uint64_t kAnnealedCases = 150;
constexpr int64_t kAnnealedMoves = 100'000;

// Some moves of annealing from a random mapping find the best of all mappings of at most 7 devices.
TEST(MappingAnnealerTest, FindsTheBestOfFewDevices) {
  TaskArena arena(1);
  RandomStream random(1);
  int64_t compared = 0;
  for (uint64_t i = 0; i < kAnnealedCases; ++i) {
    SCOPED_TRACE(i);
    const MappingInstance instance = MakeRandomMappingInstance(7, random);
    const std::optional<double> best = BestValueByBruteForce(instance);
    const std::optional<Mapping> start = MakeRandomMapping(instance, random);
    ASSERT_EQ(best.has_value(), start.has_value());
    if (!best.has_value()) continue;
    const MappingRun run = AnnealMapping(MappingTables(instance, SolveLimits(), arena), *start, 0, MappingHeat(),
                                         kAnnealedMoves, random, SolveLimits());
    ASSERT_TRUE(IsMapping(instance, run.best));
    EXPECT_EQ(run.value, Evaluate(instance, run.best));
    EXPECT_NEAR(run.value.value_ms, *best, *best * 1e-9);
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

TEST(MappingAnnealerTest, NeverEndsWorseThanItsStart) {
  TaskArena arena(1);
  RandomStream random(2);
  for (uint64_t i = 0; i < kAnnealedCases; ++i) {
    SCOPED_TRACE(i);
    const MappingInstance instance = MakeRandomMappingInstance(20, random);
    const std::optional<Mapping> start = MakeRandomMapping(instance, random);
    if (!start.has_value()) continue;
    const MappingRun run = AnnealMapping(MappingTables(instance, SolveLimits(), arena), *start, 0, MappingHeat(), 500,
                                         random, SolveLimits());
    EXPECT_LE(run.value.value_ms, Evaluate(instance, *start).value_ms);
    EXPECT_GE(run.moves, 500);
  }
}

TEST(MappingAnnealerTest, StopsAtTheBoundAndWhenTold) {
  TaskArena arena(1);
  RandomStream random(3);
  const MappingInstance instance = MakeRandomMappingInstance(12, random);
  std::optional<Mapping> start = MakeRandomMapping(instance, random);
  ASSERT_TRUE(start.has_value());
  const MappingTables tables(instance, SolveLimits(), arena);
  const double value = Evaluate(instance, *start).value_ms;
  EXPECT_EQ(AnnealMapping(tables, *start, value, MappingHeat(), kAnnealedMoves, random, SolveLimits()).moves, 0);
  SolveLimits limits;
  limits.deadline = SolveLimits::Clock::now();
  EXPECT_LT(AnnealMapping(tables, *start, 0, MappingHeat(), int64_t{1} << 40U, random, limits).moves, kAnnealedMoves);
}

}  // namespace
}  // namespace planwright
