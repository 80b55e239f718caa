#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "core/mapping/mapping.h"
#include "tests/reference/mapping/mapping_checks.h"
#include "tests/support/mapping_cases.h"

namespace planwright {
namespace {

constexpr double kRounding = 1e-9;

void Ignore(const MappingOutcome& /*so_far*/) {}

SolveLimits WithWork(int64_t work) {
  SolveLimits limits;
  limits.work = work;
  return limits;
}

// Whether cover searches decide the objective: they know nothing of rings, nor that ports are two.
bool CoversDecide(const MappingInstance& instance) {
  return instance.overlap != Overlap::kFullDuplex &&
         (instance.objective == MappingObjective::kLoad || !instance.HasRings());
}

TEST(MappingSearchTest, AgreesWithBruteForceOnFewDevices) {
  constexpr uint64_t kCases = 220;
  RandomStream random(11);
  TaskArena arena(2);
  int64_t proven = 0;
  int64_t compared = 0;
  int64_t reached = 0;
  for (uint64_t i = 0; i < kCases; ++i) {
    SCOPED_TRACE(i);
    const MappingInstance instance = MakeRandomMappingInstance(i % 8 == 0 ? 8 : 7, random);
    const std::optional<double> best = BestValueByBruteForce(instance);
    const auto outcome = MapStages(instance, {}, WithWork(400'000), arena, Ignore);
    ASSERT_EQ(outcome.has_value(), best.has_value());
    if (!best.has_value()) continue;
    ASSERT_TRUE(IsMapping(instance, outcome->mapping));
    EXPECT_EQ(outcome->value, Evaluate(instance, outcome->mapping));
    EXPECT_GE(outcome->value.value_ms, *best * (1 - kRounding));
    ++compared;
    reached += outcome->value.value_ms <= *best * (1 + kRounding) ? 1 : 0;
    for (const MappingBound& bound : outcome->bounds) {
      EXPECT_LE(bound.value_ms * (1 - kRounding), *best) << bound.method;
    }
    if (CoversDecide(instance) && instance.objective != MappingObjective::kAllReduce) {
      EXPECT_TRUE(outcome->proven) << outcome->value.value_ms << " " << outcome->bound_ms();
      EXPECT_LE(outcome->value.value_ms, *best * (1 + kRounding));
    }
    proven += outcome->proven ? 1 : 0;
  }
  EXPECT_GT(proven, 80);
  // Where rings count, annealing needs more work at times.
  EXPECT_GE(reached, compared - compared / 50);
}

TEST(MappingSearchTest, AgreesWithBruteForceWhereReplicasDoNotPairOff) {
  RandomStream random(14);
  TaskArena arena(2);
  int64_t compared = 0;
  int64_t reached = 0;
  for (uint64_t i = 0; i < 160; ++i) {
    SCOPED_TRACE(i);
    const MappingInstance instance = MakeUnevenMappingInstance(7, random);
    const std::optional<double> best = BestValueByBruteForce(instance);
    const auto outcome = MapStages(instance, {}, WithWork(200'000), arena, Ignore);
    ASSERT_EQ(outcome.has_value(), best.has_value());
    if (!best.has_value()) continue;
    ASSERT_TRUE(IsMapping(instance, outcome->mapping));
    EXPECT_EQ(outcome->value, Evaluate(instance, outcome->mapping));
    EXPECT_GE(outcome->value.value_ms, *best * (1 - kRounding));
    EXPECT_LE(outcome->bound_ms() * (1 - kRounding), *best);
    ++compared;
    reached += outcome->value.value_ms <= *best * (1 + kRounding) ? 1 : 0;
  }
  EXPECT_GT(compared, 100);
  // By annealing alone.
  EXPECT_GE(reached, compared - compared / 25);
}

TEST(MappingSearchTest, GivesTheSameAnswerForAnyNumberOfThreads) {
  constexpr uint64_t kCases = 12;
  RandomStream random(12);
  for (uint64_t i = 0; i < kCases; ++i) {
    SCOPED_TRACE(i);
    const MappingInstance instance =
        i % 3 == 2 ? MakeUnevenMappingInstance(24, random) : MakeRandomMappingInstance(24, random);
    std::optional<MappingOutcome> first;
    for (const int threads : {1, 2, 8}) {
      TaskArena arena(threads);
      auto outcome = MapStages(instance, {}, WithWork(250'000), arena, Ignore);
      if (!first.has_value()) first = outcome;
      ASSERT_EQ(outcome.has_value(), first.has_value());
      if (!outcome.has_value()) continue;
      EXPECT_EQ(outcome->mapping, first->mapping);
      EXPECT_EQ(outcome->bound_ms(), first->bound_ms());
      EXPECT_EQ(outcome->work, first->work);
    }
  }
}

TEST(MappingSearchTest, IsNeverWorseThanItsStartsAndTellsEveryImprovement) {
  RandomStream random(13);
  TaskArena arena(1);
  for (uint64_t i = 0; i < 40; ++i) {
    SCOPED_TRACE(i);
    const MappingInstance instance = MakeRandomMappingInstance(20, random);
    const std::optional<Mapping> start = MakeRandomMapping(instance, random);
    if (!start.has_value()) continue;
    const double value = Evaluate(instance, *start).value_ms * (1 + kRounding);
    double bound = 0;
    const auto check = [&](const MappingOutcome& so_far) {
      EXPECT_GE(so_far.bound_ms(), bound);
      bound = so_far.bound_ms();
    };
    const auto outcome = MapStages(instance, {.starts = {*start}}, WithWork(20'000), arena, check);
    EXPECT_LE(outcome->value.value_ms, value);
    EXPECT_LE(outcome->bound_ms() * (1 - kRounding), outcome->value.value_ms);
    EXPECT_EQ(outcome->bound_ms(), bound);
    // Bounds of rings are counted, and not cut.
    if (!instance.CountsRings()) {
      EXPECT_LE(outcome->work, 20'100);
    }
  }
}

}  // namespace
}  // namespace planwright
