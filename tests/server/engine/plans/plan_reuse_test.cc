#include "server/engine/plans/plan_reuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

namespace planwright::server {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

constexpr int64_t kObjective = 1'000'000;

CachedPlan Made(StopReason reason, double gap, SearchEffort effort, int64_t objective = kObjective) {
  CachedPlan made;
  made.effort = effort;
  made.plan.objective = Picoseconds(objective);
  made.plan.lower_bound = made.plan.objective - Picoseconds(static_cast<int64_t>(gap * static_cast<double>(objective)));
  made.plan.provenance.stop_reason = reason;
  made.plan.provenance.proven_optimal = reason == StopReason::kOptimal;
  return made;
}

SearchEffort Effort(int time_seconds, std::optional<int64_t> work = std::nullopt, double gap = 0) {
  return {.time = seconds(time_seconds), .work_limit = work, .relative_gap = gap};
}

TEST(PlanReuseTest, AProvenPlanSatisfiesEverybody) {
  const CachedPlan proven = Made(StopReason::kOptimal, 0, Effort(1, 10));
  EXPECT_TRUE(Satisfies(proven, Effort(3600)));
  EXPECT_TRUE(Satisfies(proven, Effort(3600, 1'000'000)));
}

TEST(PlanReuseTest, AGapThatIsSmallEnoughSatisfies) {
  const CachedPlan close = Made(StopReason::kGapReached, 0.02, Effort(10, std::nullopt, 0.05));
  EXPECT_TRUE(Satisfies(close, Effort(3600, std::nullopt, 0.05)));
  EXPECT_TRUE(Satisfies(close, Effort(3600, std::nullopt, 0.02)));
  EXPECT_FALSE(Satisfies(close, Effort(1, std::nullopt, 0.01)));
  EXPECT_FALSE(Satisfies(close, Effort(1)));
}

TEST(PlanReuseTest, APlanCutOffByTheClockSatisfiesThoseWithNoMoreTime) {
  const CachedPlan cut = Made(StopReason::kTimeLimit, 0.1, Effort(10));
  EXPECT_TRUE(Satisfies(cut, Effort(10)));
  EXPECT_TRUE(Satisfies(cut, Effort(5)));
  EXPECT_FALSE(Satisfies(cut, Effort(11)));
  EXPECT_TRUE(Satisfies(cut, Effort(11, std::nullopt, 0.1)));
}

TEST(PlanReuseTest, APlanOfACancelledSearchCountsTheTimeThatItHad) {
  const CachedPlan cancelled = Made(StopReason::kCancelled, 0.1, Effort(2));
  EXPECT_TRUE(Satisfies(cancelled, Effort(1)));
  EXPECT_FALSE(Satisfies(cancelled, Effort(3)));
}

TEST(PlanReuseTest, AWorkLimitedPlanSatisfiesThoseWithNoMoreWork) {
  const CachedPlan limited = Made(StopReason::kWorkLimit, 0.1, Effort(10, 1000));
  EXPECT_TRUE(Satisfies(limited, Effort(3600, 1000)));
  EXPECT_TRUE(Satisfies(limited, Effort(3600, 10)));
  EXPECT_FALSE(Satisfies(limited, Effort(1, 1001)));
  // What the algorithm itself thinks is enough may be more.
  EXPECT_FALSE(Satisfies(limited, Effort(1)));
  EXPECT_FALSE(Satisfies(Made(StopReason::kExhausted, 0.1, Effort(10)), Effort(1, 1000)));
}

TEST(PlanReuseTest, ASearchThatEndedByItselfSatisfiesThoseWithMoreTime) {
  EXPECT_TRUE(Satisfies(Made(StopReason::kExhausted, 0.1, Effort(10)), Effort(3600)));
  EXPECT_TRUE(Satisfies(Made(StopReason::kIdealLimit, 0.1, Effort(10)), Effort(3600)));
}

// Although its search did not end because of the gap: those within it may have.
TEST(PlanReuseTest, ASearchThatWasContentWithAWiderGapSatisfiesOnlyThoseWhoAre) {
  const CachedPlan loose = Made(StopReason::kExhausted, 0.4, Effort(10, std::nullopt, 0.3));
  EXPECT_TRUE(Satisfies(loose, Effort(10, std::nullopt, 0.3)));
  EXPECT_FALSE(Satisfies(loose, Effort(10, std::nullopt, 0.2)));
  EXPECT_FALSE(Satisfies(loose, Effort(10)));
  EXPECT_TRUE(Replaces(Made(StopReason::kExhausted, 0.1, Effort(10), kObjective - 1), loose));
}

TEST(PlanReuseTest, APlanIsReplacedByABetterOneOfMoreEffort) {
  const CachedPlan cut = Made(StopReason::kTimeLimit, 0.1, Effort(10));
  EXPECT_TRUE(Replaces(Made(StopReason::kTimeLimit, 0.05, Effort(60), kObjective - 1), cut));
  EXPECT_TRUE(Replaces(Made(StopReason::kOptimal, 0, Effort(60), kObjective - 2), cut));
  EXPECT_FALSE(Replaces(Made(StopReason::kTimeLimit, 0.3, Effort(1), kObjective + 2), cut));
  EXPECT_FALSE(Replaces(cut, Made(StopReason::kOptimal, 0, Effort(60), kObjective - 2)));
}

TEST(PlanReuseTest, TextsThatMayNameDevicesAreMadeAnew) {
  Plan plan;
  plan.tasks = {{.operation = "forward", .stage = StageId(0), .resource = "1", .start = Picoseconds(3)}};
  plan.baselines = {{"greedy", std::nullopt, "device '1' is too small"},
                    {"data_parallel", Picoseconds(3), "the problem does not allow replication"}};
  plan.explanation = {.bottleneck = "device 1: 3 ms", .slack = Picoseconds(2), .relief = {}};
  plan.warnings = {"device 1 is odd", "the search is not proven"};
  Plan fresh;
  fresh.tasks = {{.operation = "forward", .stage = StageId(0), .resource = "x", .start = Picoseconds(3)}};
  fresh.warnings = {"device x is odd"};
  RenewTexts(fresh, "device x: 3 ms", plan);
  EXPECT_EQ(plan.tasks.at(0).resource, "x");
  EXPECT_EQ(plan.baselines.at(0).reason, "no plan was found");
  EXPECT_EQ(plan.baselines.at(1).reason, "the problem does not allow replication");
  EXPECT_EQ(plan.explanation.bottleneck, "device x: 3 ms");
  EXPECT_EQ(plan.explanation.slack, Picoseconds(2));
  EXPECT_THAT(plan.warnings, ElementsAre("device x is odd", "the search is not proven"));
}

TEST(PlanReuseTest, WhatIsNotExplainedStaysSo) {
  Plan plan;
  RenewTexts(Plan(), "device x: 3 ms", plan);
  EXPECT_EQ(plan.explanation.bottleneck, "");
}

// Each part that may grow.
TEST(PlanReuseTest, EveryPartOfAPlanIsCounted) {
  const std::string text(100, 'x');
  const int64_t empty = BytesOf(CachedPlan());
  EXPECT_GE(empty, static_cast<int64_t>(sizeof(CachedPlan)));
  const auto grows_by = [empty](const auto& change) {
    CachedPlan cached;
    change(cached);
    return BytesOf(cached) - empty;
  };
  const auto size = static_cast<int64_t>(text.size());
  EXPECT_GE(grows_by([&](CachedPlan& c) { c.key = text; }), size);
  EXPECT_GE(grows_by([&](CachedPlan& c) { c.devices = {text, text}; }), 2 * size);
  EXPECT_GE(grows_by([&](CachedPlan& c) { c.plan.stages.resize(1); }), static_cast<int64_t>(sizeof(Stage)));
  EXPECT_GE(grows_by([&](CachedPlan& c) {
              c.plan.stages.resize(1);
              c.plan.stages[0].operators.resize(1000);
            }),
            4000);
  EXPECT_GE(grows_by([&](CachedPlan& c) {
              c.plan.stages.resize(1);
              c.plan.stages[0].replicas.resize(100);
            }),
            1600);
  EXPECT_GE(grows_by([&](CachedPlan& c) {
              c.plan.stages.resize(1);
              c.plan.stages[0].ring_order.resize(100);
            }),
            400);
  EXPECT_GE(grows_by([&](CachedPlan& c) {
              c.plan.devices.resize(1);
              c.plan.devices[0].stages.resize(100);
            }),
            400);
  EXPECT_GE(grows_by([&](CachedPlan& c) { c.plan.links.resize(100); }), 1600);
  EXPECT_GE(grows_by([&](CachedPlan& c) {
              c.plan.tasks.resize(1);
              c.plan.tasks[0].resource = text;
            }),
            size);
  EXPECT_GE(grows_by([&](CachedPlan& c) { c.plan.bounds = {{.method = text}}; }), size);
  EXPECT_GE(grows_by([&](CachedPlan& c) { c.plan.estimate.uncounted_memory = {{text, 0}}; }), size);
  EXPECT_GE(grows_by([&](CachedPlan& c) {
              c.plan.baselines.resize(1);
              c.plan.baselines[0].reason = text;
            }),
            size);
  EXPECT_GE(grows_by([&](CachedPlan& c) { c.plan.explanation.relief = {{text, text}}; }), 2 * size);
  EXPECT_GE(grows_by([&](CachedPlan& c) { c.plan.provenance.counters[text] = 1; }), size);
  EXPECT_GE(grows_by([&](CachedPlan& c) { c.plan.provenance.incumbents.resize(100); }), 4800);
  EXPECT_GE(grows_by([&](CachedPlan& c) { c.plan.warnings = {text}; }), size);
  EXPECT_GE(grows_by([&](CachedPlan& c) { c.plan.joint.emplace().layer_labels = {text}; }), size);
  EXPECT_GE(grows_by([&](CachedPlan& c) { c.plan.joint.emplace().stages.resize(10); }), 1000);
}

}  // namespace
}  // namespace planwright::server
