#include "server/engine/operations/sweep_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/wire.h"

namespace planwright::server {
namespace {

using ::testing::ElementsAre;

TEST(SweepGridTest, RunsTheLastListFastest) {
  const auto request = Wire<v1::SweepPlansRequest>(
      "num_stages: 1 num_stages: 2 schedules: SCHEDULE_KIND_GPIPE max_devices: 4 max_devices: 8");
  ASSERT_EQ(GridSize(request), 4);
  std::vector<std::string> rows;
  for (int64_t i = 0; i < 4; ++i) {
    const v1::SweepResult::Settings settings = GridSettings(request, i);
    EXPECT_EQ(settings.schedule(), v1::SCHEDULE_KIND_GPIPE);
    EXPECT_FALSE(settings.has_num_replicas());
    rows.push_back(std::to_string(settings.num_stages()) + "/" + std::to_string(settings.max_devices()));
  }
  EXPECT_THAT(rows, ElementsAre("1/4", "1/8", "2/4", "2/8"));
}

TEST(SweepGridTest, AGridWithoutListsIsTheProblemItself) {
  EXPECT_EQ(GridSize(v1::SweepPlansRequest()), 1);
  auto problem = Wire<v1::PlanningProblem>("num_stages: 3");
  ApplySettings(GridSettings(v1::SweepPlansRequest(), 0), problem);
  EXPECT_EQ(problem.num_stages(), 3);
}

TEST(SweepGridTest, SettingsTakeThePlaceOfTheProblems) {
  auto problem = Wire<v1::PlanningProblem>("num_stages: 3 devices_to_use { hosts: 'a' max_devices: 2 }");
  ApplySettings(Wire<v1::SweepResult::Settings>("num_stages: 5 device_set { hosts: 'b' } max_devices: 7"), problem);
  EXPECT_EQ(problem.num_stages(), 5);
  EXPECT_THAT(problem.devices_to_use().hosts(), ElementsAre("b"));
  EXPECT_EQ(problem.devices_to_use().max_devices(), 7);
}

TEST(SweepGridTest, RanksPlansByObjectiveAndPutsTheOthersLast) {
  auto sweep = Wire<v1::SweepResult>(
      "rows { operation: 'none' } rows { operation: 'b' objective_ms: 2 } rows { operation: 'a' objective_ms: 1 } "
      "rows { operation: 'c' objective_ms: 2 }");
  RankRows(sweep);
  std::vector<std::string> rows;
  for (const v1::SweepResult::Row& row : sweep.rows()) rows.push_back(row.operation() + std::to_string(row.rank()));
  EXPECT_THAT(rows, ElementsAre("a1", "b2", "c3", "none0"));
}

TEST(SweepGridTest, BatchesRunSlowestAndAreRankedByTheTimeOfASample) {
  const auto request = Wire<v1::SweepPlansRequest>("global_batches: 64 global_batches: 256 max_devices: 8");
  ASSERT_EQ(GridSize(request), 2);
  auto problem = Wire<v1::PlanningProblem>("joint { global_batch: 32 tensor_degrees: 2 }");
  ApplySettings(GridSettings(request, 1), problem);
  EXPECT_EQ(problem.joint().global_batch(), 256);
  EXPECT_THAT(problem.joint().tensor_degrees(), ElementsAre(2));
  auto sweep = Wire<v1::SweepResult>(
      "rows { operation: 'small' objective_ms: 100 settings { global_batch: 64 } } "
      "rows { operation: 'large' objective_ms: 300 settings { global_batch: 256 } }");
  RankRows(sweep);
  EXPECT_EQ(sweep.rows(0).operation(), "large");
}

}  // namespace
}  // namespace planwright::server
