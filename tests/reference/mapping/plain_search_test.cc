// What MapStages claims against the paper's search: that one is plain, complete, and shares nothing with the bounds.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "core/mapping/mapping.h"
#include "tests/reference/mapping/checking_scheme.h"
#include "tests/reference/mapping/feasibility_search.h"
#include "tests/support/mapping_cases.h"

namespace planwright {
namespace {

constexpr int kCases = 300;
constexpr int64_t kWork = 100'000;
constexpr int64_t kNodes = 200'000;
constexpr double kRounding = 1e-6;

// No mapping is better than a bound, and none than a value that is proven.
TEST(PlainSearchTest, FindsNothingBetterThanBoundsAndProofs) {
  RandomStream random(11);
  TaskArena arena(1);
  SolveLimits limits;
  limits.work = kWork;
  int decided = 0;
  int proven = 0;
  for (int i = 0; i < kCases; ++i) {
    SCOPED_TRACE(i);
    MappingInstance instance = MakeRandomMappingInstance(20, random);
    instance.objective = random.Below(3) == 0 ? MappingObjective::kAllReduce : MappingObjective::kLoad;
    const auto outcome = MapStages(instance, {}, limits, arena, [](const MappingOutcome&) {});
    if (!outcome.has_value()) continue;
    EXPECT_GE(outcome->value.value_ms, outcome->bound_ms() * (1 - 1e-9));
    const LinkTimes links(instance.network, instance.num_devices());
    const CheckingScheme scheme = MakeCheckingScheme(instance);
    FeasibilitySearch search(instance, links, scheme);
    const Feasibility below = search.Search(outcome->bound_ms() * (1 - kRounding), kNodes, {});
    EXPECT_NE(below, Feasibility::kFound) << outcome->bounds.back().method;
    if (below == Feasibility::kNone) ++decided;
    if (outcome->proven) ++proven;
  }
  EXPECT_GE(decided, 200);
  RecordProperty("proven", proven);
}

}  // namespace
}  // namespace planwright
