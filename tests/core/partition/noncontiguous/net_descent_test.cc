#include "core/partition/noncontiguous/net_descent.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "core/base/index.h"
#include "tests/core/partition/noncontiguous/net_case.h"

namespace planwright {
namespace {

constexpr uint64_t kDescentCases = 300;
constexpr int64_t kMoves = 20'000;

// Whether one group sent elsewhere from the most loaded device would lower the objective without overfilling a device.
bool HasBetterNeighbour(const NetCase& test, const NetAssignment& assignment) {
  const NetState state(test.tables, assignment);
  for (int32_t group = 0; group < test.tables.num_groups(); ++group) {
    for (int32_t to = 0; to < test.tables.num_devices(); ++to) {
      if (!test.tables.may_run(group, to) || state.replicas(to) == 0) continue;
      NetAssignment moved = assignment;
      moved.device_of[Index(group)] = to;
      const NetState after(test.tables, moved);
      if (after.fits_memory() && after.Objective() < state.Objective()) return true;
    }
  }
  return false;
}

TEST(NetDescentTest, EndsInBetterAssignmentsThatFitAndAreLocalOptima) {
  int improved = 0;
  int optima = 0;
  for (uint64_t seed = 0; seed < kDescentCases && !HasFailure(); ++seed) {
    const NetCase test(seed);
    RandomStream random(seed, 13);
    const std::optional<NetAssignment> start = test.RandomAssignment(random);
    if (!start.has_value() || !NetState(test.tables, *start).fits_memory()) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(test.instance));
    const SolveLimits limits;
    Poller poller(limits);
    const DescentResult result = Descend(test.tables, *start, kMoves, poller);
    const NetState end(test.tables, result.assignment);
    const int64_t before = NetState(test.tables, *start).Objective();
    EXPECT_TRUE(end.fits_memory());
    EXPECT_EQ(end.Objective(), result.load);
    EXPECT_LE(result.load, before);
    if (result.load < before) ++improved;
    if (result.moves >= kMoves) continue;
    if (!HasBetterNeighbour(test, result.assignment)) ++optima;
  }
  EXPECT_GT(improved, 100);
  EXPECT_GT(optima, 100);
}

}  // namespace
}  // namespace planwright
