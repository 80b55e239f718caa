#include "core/schedule/pattern_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/index.h"
#include "core/base/random.h"
#include "core/cost/pattern_memory.h"
#include "tests/support/pattern_oracle.h"
#include "tests/support/random_chain.h"

namespace planwright {
namespace {

struct Case {
  Chain chain;
  ChainDevices devices;
  ChainAllocation allocation;
};

// Memory binds in most cases.
Case MakeCase(uint64_t seed, const RandomChainOptions& options, int32_t most_stages) {
  RandomStream random(seed);
  Case made{MakeRandomChain(options, random), {}, {}};
  made.devices.count = static_cast<int32_t>(random.Between(1, 3));
  made.devices.full_duplex = random.Below(3) == 0;
  made.allocation = MakeRandomAllocation(options.layers, made.devices.count, most_stages, random);
  made.devices.memory_bytes = BytesWithBatches(made.chain, made.devices, made.allocation, 0.8 + 1.4 * random.Unit());
  if (random.Below(10) == 0) made.devices.memory_bytes.reset();
  return made;
}

int64_t TotalTime(const Case& instance) {
  int64_t time = 0;
  for (const ChainLayer& layer : instance.chain.layers) time += (layer.forward + layer.backward).count();
  for (const ChainCut& cut : instance.chain.cuts) time += (cut.send_forward + cut.send_backward).count();
  return time;
}

// Passes that take no time may be counted in memory at the moment at which they start and end.
bool HasEmptyPass(const PatternConstraints& constraints) {
  return std::any_of(constraints.steps.begin(), constraints.steps.end(), [](const PatternStep& step) {
    const bool is_pass = step.operation == PatternOperation::kForward || step.operation == PatternOperation::kBackward;
    return is_pass && step.duration.count() == 0;
  });
}

void ExpectIsPattern(const Case& instance, const PeriodicPattern& pattern) {
  EXPECT_EQ(FaultOf(instance.chain, instance.devices, instance.allocation, pattern), "");
  const std::vector<int64_t> peaks = SweptPeaks(instance.chain, instance.devices, instance.allocation, pattern);
  EXPECT_EQ(
      MemoryOf(instance.chain, ChainSums(instance.chain), instance.devices, instance.allocation, pattern).peak_bytes,
      peaks);
  if (instance.devices.memory_bytes.has_value()) {
    EXPECT_LE(*std::max_element(peaks.begin(), peaks.end()), *instance.devices.memory_bytes);
  }
}

TEST(PatternSearchTest, FindsTheShortestPeriodThatEnumerationFinds) {
  int feasible = 0;
  int infeasible = 0;
  int above_load = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, 1);
    const RandomChainOptions options{
        .layers = static_cast<int32_t>(random.Between(2, 4)), .max_time = 3, .has_backward = random.Below(8) != 0};
    const Case instance = MakeCase(seed, options, 2);
    const ChainSums sums(instance.chain);
    const PatternConstraints constraints = ConstraintsOf(instance.chain, sums, instance.devices, instance.allocation);
    const PatternOutcome outcome = PatternSearch(instance.chain, instance.devices, instance.allocation, {});
    EXPECT_TRUE(outcome.is_proven);
    const int64_t tried = outcome.pattern.has_value() ? outcome.pattern->period.count() - 1 : TotalTime(instance);
    // As many ways to start as enumeration can go through.
    if (std::pow(static_cast<double>(tried), constraints.num_steps() - 1) > 1e6) continue;
    if (HasEmptyPass(constraints)) continue;
    EXPECT_FALSE(tried > 0 && ExistsPattern(instance.chain, instance.devices, instance.allocation, tried));
    if (!outcome.pattern.has_value()) {
      EXPECT_FALSE(outcome.lower_bound.has_value());
      ++infeasible;
      continue;
    }
    ++feasible;
    ExpectIsPattern(instance, *outcome.pattern);
    const int64_t period = outcome.pattern->period.count();
    EXPECT_EQ(outcome.lower_bound, outcome.pattern->period);
    if (period > constraints.load) ++above_load;
  }
  EXPECT_GT(feasible, 400);
  EXPECT_GT(infeasible, 50);
  EXPECT_GT(above_load, 10);
}

TEST(PatternSearchTest, FindsPatternsOfManyStages) {
  int feasible = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Case instance = MakeCase(seed, {.layers = 12, .max_time = 1000, .has_backward = seed % 9 != 0}, 4);
    SolveLimits limits;
    limits.work = 2000;
    const PatternOutcome outcome = PatternSearch(instance.chain, instance.devices, instance.allocation, limits);
    if (!outcome.pattern.has_value()) continue;
    ++feasible;
    ExpectIsPattern(instance, *outcome.pattern);
    EXPECT_LE(*outcome.lower_bound, outcome.pattern->period);
    EXPECT_EQ(outcome.is_proven, *outcome.lower_bound == outcome.pattern->period);
  }
  EXPECT_GT(feasible, 150);
}

}  // namespace
}  // namespace planwright
