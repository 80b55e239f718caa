// What a pipeline costs on trial against CostPlan and the verifier, along random walks in every mode.
#include "core/partition/stage_annealing/pipeline_state.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "core/partition/stage_annealing/pipeline_moves.h"
#include "core/partition/stage_annealing/pipeline_starts.h"
#include "tests/core/partition/stage_annealing/annealing_case.h"
#include "tests/property/cases.h"
#include "tests/support/mode_instance.h"

namespace planwright {
namespace {

constexpr InstanceMode kModes[] = {InstanceMode::kContiguous, InstanceMode::kReplicated, InstanceMode::kHierarchy,
                                   InstanceMode::kTopology, InstanceMode::kSteps};
constexpr int kMoves = 60;

void ExpectSameCosts(const PipelineCosts& costs, const PipelineCosts& fresh) {
  EXPECT_EQ(costs.objective, fresh.objective);
  EXPECT_DOUBLE_EQ(costs.smooth, fresh.smooth);
  EXPECT_DOUBLE_EQ(costs.overflow, fresh.overflow);
  EXPECT_EQ(costs.misplaced, fresh.misplaced);
  EXPECT_EQ(costs.busiest, fresh.busiest);
}

void ExpectTrueCosts(const AnnealingCase& search, const PipelineTables& tables, const PipelineState& state) {
  const Placement placement = tables.PlacementOf(state.pipeline());
  if (state.costs().misplaced == 0) {
    EXPECT_EQ(state.costs().objective, search.ObjectiveOf(placement));
  }
  EXPECT_EQ(state.is_feasible(), search.IsFeasible(placement));
}

// Keeps every second change.
void Walk(const AnnealingCase& search, uint64_t seed) {
  const PipelineTables tables(search.request);
  RandomStream random(seed);
  const Pipeline start = RandomPipeline(tables, random);
  if (start.stages.empty()) return;
  PipelineState state(tables, start);
  PipelineMoves moves(tables, state, random);
  ExpectTrueCosts(search, tables, state);
  for (int move = 0; move < kMoves && !::testing::Test::HasFailure(); ++move) {
    if (!moves.Propose()) {
      state.Undo();
    } else if (state.Evaluate(); random.Below(2) == 0) {
      state.Undo();
    } else {
      state.Keep();
    }
    ExpectTrueCosts(search, tables, state);
    ExpectSameCosts(state.costs(), PipelineState(tables, state.pipeline()).costs());
  }
}

TEST(PipelineStateTest, CostsWhatCostPlanSaysInEveryMode) {
  for (const InstanceMode mode : kModes) {
    for (uint64_t seed = 0; seed < NumCases(40) && !HasFailure(); ++seed) {
      const AnnealingCase search(MakeModeInstance(mode, seed, 10));
      SCOPED_TRACE(::testing::Message() << "mode " << static_cast<int>(mode) << " seed " << seed << "\n"
                                        << Describe(search.instance));
      Walk(search, seed);
    }
  }
}

TEST(PipelineTablesTest, PlacementsComeBackAsTheyWere) {
  for (uint64_t seed = 0; seed < NumCases(40); ++seed) {
    const AnnealingCase search(MakeModeInstance(InstanceMode::kSteps, seed, 10));
    const PipelineTables tables(search.request);
    RandomStream random(seed);
    const Pipeline pipeline = RandomPipeline(tables, random);
    if (pipeline.stages.empty()) continue;
    const std::optional<Pipeline> again = tables.PipelineOf(tables.PlacementOf(pipeline));
    ASSERT_TRUE(again.has_value());
    ASSERT_EQ(again->stages.size(), pipeline.stages.size());
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
      EXPECT_EQ(again->stages[i].blocks, pipeline.stages[i].blocks);
      EXPECT_EQ(again->stages[i].devices, pipeline.stages[i].devices);
      EXPECT_EQ(again->stages[i].ring, pipeline.stages[i].ring);
    }
  }
}

}  // namespace
}  // namespace planwright
