#include "server/engine/plans/plan_reuse.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "server/codec/cluster.h"
#include "server/codec/graph.h"
#include "tests/support/wire.h"

namespace planwright::server {
namespace {

using std::chrono::seconds;

CachedPlan Made(v1::StopReason reason, double gap, SearchEffort effort, double objective_ms = 10) {
  CachedPlan made;
  made.effort = effort;
  made.plan.set_objective_ms(objective_ms);
  made.plan.set_relative_gap(gap);
  made.plan.mutable_provenance()->set_stop_reason(reason);
  made.plan.mutable_provenance()->set_proven_optimal(reason == v1::STOP_REASON_OPTIMAL);
  return made;
}

SearchEffort Effort(int time_seconds, std::optional<int64_t> work = std::nullopt, double gap = 0) {
  return {.time = seconds(time_seconds), .work_limit = work, .relative_gap = gap};
}

TEST(PlanReuseTest, AProvenPlanSatisfiesEverybody) {
  const CachedPlan proven = Made(v1::STOP_REASON_OPTIMAL, 0, Effort(1, 10));
  EXPECT_TRUE(Satisfies(proven, Effort(3600)));
  EXPECT_TRUE(Satisfies(proven, Effort(3600, 1'000'000)));
}

TEST(PlanReuseTest, AGapThatIsSmallEnoughSatisfies) {
  const CachedPlan close = Made(v1::STOP_REASON_GAP_REACHED, 0.02, Effort(10, std::nullopt, 0.05));
  EXPECT_TRUE(Satisfies(close, Effort(3600, std::nullopt, 0.05)));
  EXPECT_TRUE(Satisfies(close, Effort(3600, std::nullopt, 0.02)));
  EXPECT_FALSE(Satisfies(close, Effort(1, std::nullopt, 0.01)));
  EXPECT_FALSE(Satisfies(close, Effort(1)));
}

TEST(PlanReuseTest, APlanCutOffByTheClockSatisfiesThoseWithNoMoreTime) {
  const CachedPlan cut = Made(v1::STOP_REASON_TIME_LIMIT, 0.1, Effort(10));
  EXPECT_TRUE(Satisfies(cut, Effort(10)));
  EXPECT_TRUE(Satisfies(cut, Effort(5)));
  EXPECT_FALSE(Satisfies(cut, Effort(11)));
  EXPECT_TRUE(Satisfies(cut, Effort(11, std::nullopt, 0.1)));
}

TEST(PlanReuseTest, APlanOfACancelledSearchCountsTheTimeThatItHad) {
  const CachedPlan cancelled = Made(v1::STOP_REASON_CANCELLED, 0.1, Effort(2));
  EXPECT_TRUE(Satisfies(cancelled, Effort(1)));
  EXPECT_FALSE(Satisfies(cancelled, Effort(3)));
}

TEST(PlanReuseTest, AWorkLimitedPlanSatisfiesThoseWithNoMoreWork) {
  const CachedPlan limited = Made(v1::STOP_REASON_WORK_LIMIT, 0.1, Effort(10, 1000));
  EXPECT_TRUE(Satisfies(limited, Effort(3600, 1000)));
  EXPECT_TRUE(Satisfies(limited, Effort(3600, 10)));
  EXPECT_FALSE(Satisfies(limited, Effort(1, 1001)));
  // What the algorithm itself thinks is enough may be more.
  EXPECT_FALSE(Satisfies(limited, Effort(1)));
  EXPECT_FALSE(Satisfies(Made(v1::STOP_REASON_EXHAUSTED, 0.1, Effort(10)), Effort(1, 1000)));
}

TEST(PlanReuseTest, ASearchThatEndedByItselfSatisfiesThoseWithMoreTime) {
  EXPECT_TRUE(Satisfies(Made(v1::STOP_REASON_EXHAUSTED, 0.1, Effort(10)), Effort(3600)));
  EXPECT_TRUE(Satisfies(Made(v1::STOP_REASON_IDEAL_LIMIT, 0.1, Effort(10)), Effort(3600)));
}

// Although its search did not end because of the gap: those within it may have.
TEST(PlanReuseTest, ASearchThatWasContentWithAWiderGapSatisfiesOnlyThoseWhoAre) {
  const CachedPlan loose = Made(v1::STOP_REASON_EXHAUSTED, 0.4, Effort(10, std::nullopt, 0.3));
  EXPECT_TRUE(Satisfies(loose, Effort(10, std::nullopt, 0.3)));
  EXPECT_FALSE(Satisfies(loose, Effort(10, std::nullopt, 0.2)));
  EXPECT_FALSE(Satisfies(loose, Effort(10)));
  EXPECT_TRUE(Replaces(Made(v1::STOP_REASON_EXHAUSTED, 0.1, Effort(10), 9), loose));
}

TEST(PlanReuseTest, APlanIsReplacedByABetterOneOfMoreEffort) {
  const CachedPlan cut = Made(v1::STOP_REASON_TIME_LIMIT, 0.1, Effort(10), 10);
  EXPECT_TRUE(Replaces(Made(v1::STOP_REASON_TIME_LIMIT, 0.05, Effort(60), 9), cut));
  EXPECT_TRUE(Replaces(Made(v1::STOP_REASON_OPTIMAL, 0, Effort(60), 8), cut));
  EXPECT_FALSE(Replaces(Made(v1::STOP_REASON_TIME_LIMIT, 0.3, Effort(1), 12), cut));
  EXPECT_FALSE(Replaces(cut, Made(v1::STOP_REASON_OPTIMAL, 0, Effort(60), 8)));
}

TEST(PlanReuseTest, DevicesAreRenamedWhereverAFieldNamesThem) {
  auto plan = Wire<v1::Plan>(R"pb(
    stages {
      replicas { device: "1" }
      ring_order: "1"
    }
    devices { device: "1" }
    devices { device: "2" }
    links { device_a: "1" device_b: "2" }
    schedule { tasks { resource: "1 -> 2" } }
    warnings: "1 operator has a roofline estimate"
  )pb");
  RenameDevices({"1", "2"}, {"2", "x"}, plan);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(plan, Wire<v1::Plan>(R"pb(
                                                                   stages {
                                                                     replicas { device: "2" }
                                                                     ring_order: "2"
                                                                   }
                                                                   devices { device: "2" }
                                                                   devices { device: "x" }
                                                                   links { device_a: "2" device_b: "x" }
                                                                   schedule { tasks {} }
                                                                   warnings: "1 operator has a roofline estimate"
                                                                 )pb")))
      << plan.DebugString();
}

TEST(PlanReuseTest, TextsThatMayNameDevicesAreMadeAnew) {
  auto plan = Wire<v1::Plan>(R"pb(
    schedule { tasks { operation: "forward" start_ms: 3 } }
    baselines { algorithm: "greedy" reason: "device '1' is too small" }
    baselines { algorithm: "data_parallel" objective_ms: 3 reason: "the problem does not allow replication" }
    explanation { bottleneck: "device 1: 3 ms" slack_ms: 2 }
    warnings: "device 1 is odd"
    warnings: "the search is not proven"
  )pb");
  const auto fresh = Wire<v1::Plan>(R"pb(
    schedule { tasks { operation: "forward" start_ms: 3 resource: "x" } }
    warnings: "device x is odd"
  )pb");
  RenewTexts(fresh, "device x: 3 ms", plan);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(
      plan, Wire<v1::Plan>(R"pb(
        schedule { tasks { operation: "forward" start_ms: 3 resource: "x" } }
        baselines { algorithm: "greedy" reason: "no plan was found" }
        baselines { algorithm: "data_parallel" objective_ms: 3 reason: "the problem does not allow replication" }
        explanation { bottleneck: "device x: 3 ms" slack_ms: 2 }
        warnings: "device x is odd"
        warnings: "the search is not proven"
      )pb")))
      << plan.DebugString();
}

TEST(PlanReuseTest, AnswersAreInTheOrderOfTheirOwnRequest) {
  Violations violations;
  const OperatorGraph graph = DecodeGraph(Wire<v1::Graph>(R"pb(operators { name: "c" }
                                                               operators { name: "b" }
                                                               operators { name: "a" })pb"),
                                          violations);
  const Cluster cluster = DecodeCluster(Wire<v1::Cluster>(R"pb(
                                          device_classes { name: "gpu" }
                                          devices { name: "g1" device_class: "gpu" }
                                          devices { name: "g0" device_class: "gpu" }
                                          devices { name: "g2" device_class: "gpu" }
                                          interconnect { host_staged {} })pb"),
                                        100, violations);
  ASSERT_TRUE(violations.empty());
  const auto made = Wire<v1::Plan>(R"pb(
    problem { num_stages: 9 }
    stages {
      operators: "a"
      operators: "b"
      replicas { device: "g0" }
    }
    stages {
      operators: "c"
      replicas { device: "g1" }
    }
    devices { device: "g0" stages: 0 }
    devices { device: "g1" stages: 1 }
    devices { device: "g2" }
    links { device_a: "g0" device_b: "g1" load_ms: 1 }
    links { device_a: "g0" device_b: "g2" load_ms: 2 }
    links { device_a: "g1" device_b: "g2" load_ms: 3 })pb");
  const auto expected = Wire<v1::Plan>(R"pb(
    problem { num_stages: 2 }
    stages {
      operators: "b"
      operators: "a"
      replicas { device: "g0" }
    }
    stages {
      operators: "c"
      replicas { device: "g1" }
    }
    devices { device: "g1" stages: 1 }
    devices { device: "g0" stages: 0 }
    devices { device: "g2" }
    links { device_a: "g1" device_b: "g0" load_ms: 1 }
    links { device_a: "g1" device_b: "g2" load_ms: 3 }
    links { device_a: "g0" device_b: "g2" load_ms: 2 })pb");
  const v1::Plan ordered = InOrderOf(graph, cluster, Wire<v1::PlanningProblem>("num_stages: 2"), made);
  EXPECT_EQ(ordered.DebugString(), expected.DebugString());
}

}  // namespace
}  // namespace planwright::server
