#include "tests/reference/pattern_program.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "core/base/index.h"
#include "core/base/random.h"
#include "core/partition/mip/mip_solver.h"
#include "core/schedule/pattern_search.h"
#include "tests/support/random_chain.h"

namespace planwright {
namespace {

TEST(PatternProgramTest, AgreesWithThePatternSearch) {
  if (!HasMipSolver()) GTEST_SKIP() << "this build has no solver";
  int above_load = 0;
  int infeasible = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed);
    const auto layers = static_cast<int32_t>(random.Between(3, 7));
    const Chain chain = MakeRandomChain({.layers = layers, .max_time = 50, .has_backward = seed % 10 != 0}, random);
    ChainDevices devices{2, std::nullopt, seed % 4 == 1};
    const ChainAllocation allocation = MakeRandomAllocation(layers, devices.count, 3, random);
    devices.memory_bytes = BytesWithBatches(chain, devices, allocation, 0.9 + 0.9 * random.Unit());
    const PatternOutcome searched = PatternSearch(chain, devices, allocation, {});
    ASSERT_TRUE(searched.is_proven);

    const PatternProgram made = BuildPatternProgram(chain, devices, allocation);
    const MipOutcome solved = SolveIntegerProgram({made.program});
    ASSERT_EQ(solved.end, MipEnd::kFinished);
    const double rate = solved.solution.empty() ? 0 : solved.solution[Index(made.rate)];
    if (!searched.pattern.has_value()) {
      // Only an endless period.
      EXPECT_NEAR(rate, 0, 1e-5);
      ++infeasible;
      continue;
    }
    const auto period = static_cast<double>(searched.pattern->period.count());
    const auto unit = static_cast<double>(made.unit.count());
    // Whole picoseconds: the period of the program is rounded up.
    EXPECT_LE(unit / rate, period * (1 + 1e-4));
    EXPECT_GT(unit / rate, (period - 1) * (1 - 1e-4));
    if (period > unit) ++above_load;
  }
  EXPECT_GT(above_load, 12);
  EXPECT_LT(infeasible, 15);
}

}  // namespace
}  // namespace planwright
