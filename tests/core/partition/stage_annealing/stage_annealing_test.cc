#include "core/partition/stage_annealing/stage_annealing.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/infeasibility.h"
#include "tests/core/partition/stage_annealing/annealing_case.h"
#include "tests/property/brute_force.h"
#include "tests/property/cases.h"
#include "tests/support/mode_instance.h"

namespace planwright {
namespace {

struct ModeCase {
  std::string name;
  InstanceMode mode;
  int max_operators;
};

class StageAnnealingTest : public ::testing::TestWithParam<ModeCase> {};

// How often the search finds the optimum.
struct Tally {
  int cases = 0;
  int found = 0;
  // Sum of objective / optimum - 1; plans that exist and are not found count 1.
  double lost = 0;

  void Add(const std::optional<Picoseconds>& optimum, const absl::StatusOr<SearchOutcome>& outcome) {
    if (!optimum.has_value()) return;
    ++cases;
    const double gap =
        !outcome.ok() ? 1
        : *optimum == Picoseconds(0)
            ? static_cast<double>(outcome->objective.count() > 0)
            : static_cast<double>(outcome->objective.count()) / static_cast<double>(optimum->count()) - 1;
    if (gap <= 0) ++found;
    if (gap > 0) lost += gap;
  }
};

TEST_P(StageAnnealingTest, FindsTheOptimumOfBruteForceWithoutAnyStart) {
  Tally tally;
  for (uint64_t seed = 0; seed < NumCases(20); ++seed) {
    const AnnealingCase search(MakeModeInstance(GetParam().mode, seed, GetParam().max_operators));
    const std::optional<Picoseconds> optimum = OptimumOf(GetParam().mode, seed, GetParam().max_operators);
    const absl::StatusOr<SearchOutcome> outcome = search.Solve();
    tally.Add(optimum, outcome);
    const Picoseconds best = optimum.value_or(Picoseconds(0));
    if (outcome.ok() && outcome->objective > best) {
      RecordProperty("missed_" + std::to_string(seed), std::to_string(outcome->objective.count() - best.count()));
    }
    if (!outcome.ok()) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(search.instance));
    EXPECT_TRUE(search.IsFeasible(outcome->placement));
    EXPECT_EQ(search.ObjectiveOf(outcome->placement), outcome->objective);
    EXPECT_TRUE(outcome->bounds.empty());
  }
  std::printf("%s: %d of %d, lost %.4f\n", GetParam().name.c_str(), tally.found, tally.cases, tally.lost);
  EXPECT_GE(tally.found, 0.95 * tally.cases);
  EXPECT_LE(tally.lost, 0.005 * tally.cases);
}

INSTANTIATE_TEST_SUITE_P(Modes, StageAnnealingTest,
                         ::testing::Values(ModeCase{"Contiguous", InstanceMode::kContiguous, 9},
                                           ModeCase{"Replicated", InstanceMode::kReplicated, 8},
                                           ModeCase{"Hierarchy", InstanceMode::kHierarchy, 8},
                                           ModeCase{"Topology", InstanceMode::kTopology, 7},
                                           ModeCase{"Steps", InstanceMode::kSteps, 7}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace planwright
