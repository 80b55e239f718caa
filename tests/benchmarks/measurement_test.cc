#include "tests/benchmarks/measurement.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/benchmarks/child_process.h"
#include "tests/benchmarks/table.h"

namespace planwright::benchmarks {
namespace {

constexpr char kPlan[] = R"({"objective_ms": 8.5, "lower_bound_ms": 8, "relative_gap": 0.0588,
  "provenance": {"wall_time_ms": 2, "cpu_time_ms": 1.5, "stop_reason": "STOP_REASON_TIME_LIMIT",
                 "counters": {"ideals": "17914"}}})";

TEST(ParsePlanTest, ReadsWhatThePlanSaysOfItself) {
  const absl::StatusOr<PlanFigures> plan = ParsePlan(kPlan);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective_ms, 8.5);
  EXPECT_EQ(plan->lower_bound_ms, 8);
  EXPECT_EQ(plan->solve_cpu_ms, 1.5);
  EXPECT_EQ(plan->stop_reason, "TIME_LIMIT");
  EXPECT_EQ(plan->ideals, 17'914);
  EXPECT_EQ(plan->passes, std::nullopt);
}

TEST(ParsePlanTest, RefusesWhatIsNoPlan) {
  for (const char* text : {"", "{", "[]", "{}", "Plan: 8.5 ms"}) EXPECT_FALSE(ParsePlan(text).ok()) << text;
}

TEST(MedianTest, TakesTheMiddle) {
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({9, 1, 5}), 5);
  EXPECT_EQ(Median({4, 1, 2, 100}), 3);
}

TEST(SummarizeTest, TakesMediansOfTimesAndTheLargestMemory) {
  std::vector<Measurement> runs(3);
  runs[0] = {.plan = {}, .process_cpu_ms = 30, .peak_resident_bytes = 100};
  runs[1] = {.plan = {}, .process_cpu_ms = 10, .peak_resident_bytes = 300};
  runs[2] = {.plan = {}, .process_cpu_ms = 20, .peak_resident_bytes = 200};
  EXPECT_EQ(Summarize(runs).process_cpu_ms, 20);
  EXPECT_EQ(Summarize(runs).peak_resident_bytes, 300);
}

TEST(RunProcessTest, ReturnsOutputAndExitCode) {
  const absl::StatusOr<ProcessResult> result = RunProcess({"sh", "-c", "echo out; echo err >&2; exit 3"});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->output, "out\n");
  EXPECT_GT(result->peak_resident_bytes, 0);
}

TEST(RunProcessTest, TellsSignalsFromExits) {
  const absl::StatusOr<ProcessResult> result = RunProcess({"sh", "-c", "kill -9 $$"});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, -1);
}

TEST(RunProcessTest, ReportsAProgramThatIsNotThere) {
  EXPECT_EQ(RunProcess({"/no/such/program"}).status().code(), absl::StatusCode::kInternal);
}

TEST(TableTest, AlignsCells) {
  std::ostringstream out;
  Table table({{"name", 6}, {"ms", 5}}, out);
  table.AddRow({"a", "1.5"});
  table.AddRow({"longer than that"});
  EXPECT_EQ(out.str(),
            "| name   |    ms |\n"
            "| ------ | ----: |\n"
            "| a      |   1.5 |\n"
            "| longer than that |       |\n");
}

}  // namespace
}  // namespace planwright::benchmarks
