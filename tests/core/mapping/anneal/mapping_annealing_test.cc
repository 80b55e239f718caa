#include "core/mapping/anneal/mapping_annealing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "tests/reference/mapping/mapping_checks.h"
#include "tests/support/mapping_cases.h"

namespace planwright {
namespace {

SolveLimits Work(int64_t moves) {
  SolveLimits limits;
  limits.work = moves;
  return limits;
}

// Anneals to the end of the work.
Mapping AnnealToTheEnd(const MappingInstance& instance, int64_t moves, int threads) {
  TaskArena arena(threads);
  const SolveLimits limits = Work(moves);
  const MappingTables tables(instance, limits, arena);
  MappingAnnealing annealing(tables, *AssignKinds(instance), 7, limits, arena);
  while (annealing.RunBatch()) {
  }
  EXPECT_TRUE(IsMapping(instance, annealing.incumbent()));
  EXPECT_EQ(annealing.value(), Evaluate(instance, annealing.incumbent()));
  return annealing.incumbent();
}

TEST(MappingAnnealingTest, FindsTheBestOfFewDevices) {
  RandomStream random(11);
  for (uint64_t i = 0; i < 40; ++i) {
    SCOPED_TRACE(i);
    const MappingInstance instance = MakeRandomMappingInstance(7, random);
    const std::optional<double> best = BestValueByBruteForce(instance);
    if (!best.has_value()) continue;
    EXPECT_NEAR(Evaluate(instance, AnnealToTheEnd(instance, 100'000, 1)).value_ms, *best, *best * 1e-9);
  }
}

TEST(MappingAnnealingTest, FindsTheSameWithAnyNumberOfThreads) {
  RandomStream random(12);
  for (uint64_t i = 0; i < 6; ++i) {
    SCOPED_TRACE(i);
    const MappingInstance instance = MakeRandomMappingInstance(40, random);
    if (!AssignKinds(instance).has_value()) continue;
    const Mapping alone = AnnealToTheEnd(instance, 500'000, 1);
    EXPECT_EQ(AnnealToTheEnd(instance, 500'000, 2), alone);
    EXPECT_EQ(AnnealToTheEnd(instance, 500'000, 8), alone);
  }
}

TEST(MappingAnnealingTest, TakesTheBetterOfWhatItIsOffered) {
  RandomStream random(13);
  const MappingInstance instance = MakeRandomMappingInstance(40, random);
  TaskArena arena(1);
  const SolveLimits limits;
  const MappingTables tables(instance, limits, arena);
  MappingAnnealing annealing(tables, *AssignKinds(instance), 1, limits, arena);
  for (int i = 0; i < 100; ++i) {
    const Mapping mapping = *MakeRandomMapping(instance, random);
    const double before = annealing.value().value_ms;
    annealing.Offer(mapping);
    EXPECT_LE(annealing.value().value_ms, std::min(before, Evaluate(instance, mapping).value_ms));
  }
  annealing.RaiseBound(annealing.value().value_ms);
  EXPECT_FALSE(annealing.RunBatch());
}

}  // namespace
}  // namespace planwright
