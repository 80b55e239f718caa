#include "tests/reference/mapping/interval_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/reference/mapping/checking_scheme.h"
#include "tests/reference/mapping/feasibility_search.h"
#include "tests/reference/mapping/mapping_checks.h"
#include "tests/support/mapping_cases.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr int kIntervalCases = 120;
constexpr int64_t kUnlimited = int64_t{1} << 60U;

// Calls body(instance, links, a mapping) for random instances of the two objectives that the search knows; answers how
// many of them had a mapping.
template <typename Body>
int ForRandomProblems(uint64_t seed, int cases, int32_t max_devices, Body body) {
  RandomStream random(seed);
  int problems = 0;
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE(i);
    MappingInstance instance = MakeRandomMappingInstance(max_devices, random);
    instance.objective = random.Below(2) == 0 ? MappingObjective::kLoad : MappingObjective::kAllReduce;
    std::optional<Mapping> start = MakeRandomMapping(instance, random);
    if (!start.has_value()) continue;
    start->rings = RingsInReplicaOrder(instance);
    body(instance, LinkTimes(instance.network, instance.num_devices()), *start);
    ++problems;
  }
  return problems;
}

MappingInstance DiamondOfTwoReplicas(MappingObjective objective) {
  MappingInstance instance{.replicas = StageReplicas(3, 2),
                           .device_kind = std::vector<int32_t>(6, 0),
                           .compute_ms = {1, 1, 1},
                           .allreduce_bytes = {1, 1, 1},
                           .objective = objective,
                           .network = Network(UniformInterconnect{.bandwidth_bytes_per_second = 1e9})};
  instance.traffic = {{.from = 0, .to = 1, .forward_bytes = 1}, {.from = 0, .to = 2, .forward_bytes = 1}};
  return instance;
}

TEST(CheckingSchemeTest, ALoadIsKnownWithItsLastNeighbour) {
  const CheckingScheme scheme = MakeCheckingScheme(DiamondOfTwoReplicas(MappingObjective::kLoad));
  EXPECT_THAT(scheme.order, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(scheme.loads,
              ElementsAre(IsEmpty(), ElementsAre(1), ElementsAre(0, 2), IsEmpty(), ElementsAre(4), ElementsAre(3, 5)));
}

TEST(CheckingSchemeTest, AnEdgeOfARingIsKnownWithItsSecondEnd) {
  const CheckingScheme scheme = MakeCheckingScheme(DiamondOfTwoReplicas(MappingObjective::kAllReduce));
  EXPECT_THAT(scheme.order, ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(scheme.ring_edges[0], IsEmpty());
  EXPECT_THAT(scheme.ring_edges[1], ElementsAre(Pair(0, 3), Pair(3, 0)));
  EXPECT_THAT(scheme.ring_edges[4], IsEmpty());
}

TEST(FeasibilitySearchTest, FindsTheTargetThatExistsAndProvesTheOneThatDoesNot) {
  const auto check = [](const MappingInstance& instance, const LinkTimes& links, const Mapping& /*start*/) {
    const double best = *BestValueByBruteForce(instance);
    const CheckingScheme scheme = MakeCheckingScheme(instance);
    FeasibilitySearch search(instance, links, scheme);
    ASSERT_EQ(search.Search(best * (1 + 1e-9), kUnlimited, {}), Feasibility::kFound);
    ASSERT_TRUE(IsMapping(instance, search.mapping()));
    EXPECT_NEAR(Evaluate(instance, search.mapping()).value_ms, best, best * 1e-8);
    EXPECT_EQ(search.Search(best * (1 - 1e-9), kUnlimited, {}), Feasibility::kNone);
  };
  EXPECT_GT(ForRandomProblems(1, kIntervalCases, 7, check), kIntervalCases / 2);
}

TEST(IntervalSearchTest, FindsTheBestOfFewDevices) {
  TaskArena arena(2);
  ForRandomProblems(2, kIntervalCases, 7,
                    [&](const MappingInstance& instance, const LinkTimes& links, const Mapping& start) {
                      const double best = *BestValueByBruteForce(instance);
                      const IntervalSearchOutcome outcome =
                          SearchInterval(instance, links, {.start = start, .nodes_per_target = kUnlimited}, {}, arena);
                      ASSERT_TRUE(IsMapping(instance, outcome.mapping));
                      EXPECT_EQ(outcome.value, Evaluate(instance, outcome.mapping));
                      EXPECT_EQ(outcome.timeouts, 0);
                      EXPECT_LE(outcome.value.value_ms, best * (1 + 2e-6));
                      EXPECT_LE(outcome.proven_ms, best * (1 + 1e-9));
                      EXPECT_EQ(outcome.proven_ms, outcome.lower_end_ms);
                    });
}

// The lower end is none: it lies above the best value at times. What is called proven is.
TEST(IntervalSearchTest, TimeoutsProveNothing) {
  TaskArena arena(1);
  int wrong_ends = 0;
  ForRandomProblems(3, kIntervalCases, 7,
                    [&](const MappingInstance& instance, const LinkTimes& links, const Mapping& start) {
                      const double best = *BestValueByBruteForce(instance);
                      const IntervalSearchOutcome outcome =
                          SearchInterval(instance, links, {.start = start, .nodes_per_target = 20}, {}, arena);
                      EXPECT_LE(outcome.value.value_ms, Evaluate(instance, start).value_ms);
                      EXPECT_LE(outcome.proven_ms, best * (1 + 1e-9));
                      if (outcome.lower_end_ms <= best * (1 + 1e-9)) return;
                      ++wrong_ends;
                      EXPECT_GT(outcome.timeouts, 0);
                    });
  EXPECT_GT(wrong_ends, 0);
}

TEST(IntervalSearchTest, AnswersAlikeForAnyNumberOfThreads) {
  TaskArena one(1);
  TaskArena two(2);
  TaskArena eight(8);
  ForRandomProblems(4, 20, 16, [&](const MappingInstance& instance, const LinkTimes& links, const Mapping& start) {
    const IntervalSearchOptions options{.start = start, .nodes_per_target = 2'000};
    const IntervalSearchOutcome outcome = SearchInterval(instance, links, options, {}, one);
    for (TaskArena* arena : {&two, &eight}) {
      const IntervalSearchOutcome other = SearchInterval(instance, links, options, {}, *arena);
      EXPECT_EQ(other.mapping, outcome.mapping);
      EXPECT_EQ(other.nodes, outcome.nodes);
      EXPECT_EQ(other.lower_end_ms, outcome.lower_end_ms);
    }
  });
}

TEST(IntervalSearchTest, StopsWhenTold) {
  const MappingInstance instance = DiamondOfTwoReplicas(MappingObjective::kLoad);
  Mapping start{.devices = {}, .rings = RingsInReplicaOrder(instance)};
  for (std::size_t device = 0; device < 6; ++device) start.devices.emplace_back(device);
  TaskArena arena(1);
  SolveLimits limits;
  limits.deadline = SolveLimits::Clock::now();
  const IntervalSearchOutcome outcome =
      SearchInterval(instance, LinkTimes(instance.network, 6), {.start = start}, limits, arena);
  EXPECT_EQ(outcome.batches, 0);
  EXPECT_EQ(outcome.mapping, start);
}

}  // namespace
}  // namespace planwright
