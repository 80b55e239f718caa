#include "server/codec/plan.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "tests/server/codec/two_devices.h"
#include "tests/support/wire.h"

namespace planwright::server {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::ElementsAre;
using testing::IsEmpty;

OperatorGraph TwoOperators() {
  OperatorGraph graph;
  for (const char* name : {"a", "b"}) graph.operators.emplace_back().name = name;
  return graph;
}

constexpr int64_t kMs = 1'000'000'000;

// Both operators on g1, with a distinct number in every field.
Plan SmallPlan() {
  Plan plan;
  plan.objective = Picoseconds(10 * kMs);
  plan.lower_bound = Picoseconds(8 * kMs);
  plan.bounds = {{Picoseconds(8 * kMs), "work", BoundScope::kProblem}};
  plan.stages = {{.operators = {OperatorId(0), OperatorId(1)},
                  .replicas = {{DeviceId(1), 0, Picoseconds(10 * kMs)}},
                  .ring_order = {},
                  .compute = Picoseconds(7 * kMs),
                  .communication_in = Picoseconds(1 * kMs),
                  .communication_out = Picoseconds(2 * kMs),
                  .allreduce = Picoseconds(0),
                  .load = Picoseconds(10 * kMs),
                  .memory_bytes = 77,
                  .in_flight_micro_batches = 3,
                  .transfer_slots = 2,
                  .backward_contiguous = true}};
  plan.devices = {{DeviceId(0), {}, Picoseconds(0), 0, std::nullopt},
                  {DeviceId(1), {StageId(0)}, Picoseconds(10 * kMs), 77, 100}};
  plan.links = {{DeviceId(0), DeviceId(1), Picoseconds(kMs)}};
  plan.tasks = {{"subgraph", StageId(0), Pass::kBackward, "g1", Picoseconds(3 * kMs)}};
  plan.estimate = {Picoseconds(0), 100, 200, 0.5, 77, 1, {{"more", 88}}};
  plan.provenance.algorithm = "ideal_dp";
  plan.provenance.algorithm_version = "1";
  plan.provenance.stop_reason = StopReason::kTimeLimit;
  plan.provenance.counters = {{"ideals", 5}};
  plan.provenance.incumbents = {{1.5, 3, Picoseconds(10 * kMs), Picoseconds(8 * kMs), "linearized_dp"}};
  plan.provenance.fallback = "linearized_dp";
  plan.warnings = {"beware"};
  plan.replanning = {.moved_stages = 2, .kept_stages = 1, .best_objective = Picoseconds(9 * kMs)};
  return plan;
}

v1::Plan EncodedPlan() { return EncodePlan(SmallPlan(), TwoOperators(), TwoDevices()); }

TEST(PlanCodecTest, EncodesEveryNumberAndName) {
  v1::Plan plan = EncodedPlan();
  plan.clear_problem();
  const auto expected = Wire<v1::Plan>(R"pb(
    cost_model_version: 6
    objective_ms: 10
    lower_bound_ms: 8
    relative_gap: 0.2
    bounds { value_ms: 8 method: "work" scope: SCOPE_PROBLEM }
    stages {
      operators: "a"
      operators: "b"
      replicas { device: "g1" load_ms: 10 }
      compute_ms: 7
      communication_in_ms: 1
      communication_out_ms: 2
      load_ms: 10
      memory_bytes: 77
      in_flight_micro_batches: 3
      backward_contiguous: true
      transfer_slots: 2
    }
    devices { device: "g0" }
    devices { device: "g1" stages: 0 load_ms: 10 memory_bytes: 77 memory_limit_bytes: 100 }
    links { device_a: "g0" device_b: "g1" load_ms: 1 }
    schedule {
      period_ms: 10
      tasks { operation: "subgraph" pass: "backward" resource: "g1" start_ms: 3 }
    }
    estimate {
      micro_batches_per_second: 100
      samples_per_second: 200
      bubble_fraction: 0.5
      peak_memory_bytes: 77
      estimated_operators: 1
      uncounted_memory { what: "more" peak_memory_bytes: 88 }
    }
    provenance {
      algorithm: "ideal_dp"
      algorithm_version: "1"
      seed: 1
      stop_reason: STOP_REASON_TIME_LIMIT
      counters { key: "ideals" value: 5 }
      incumbents { time_ms: 1.5 work: 3 objective_ms: 10 lower_bound_ms: 8 algorithm: "linearized_dp" }
      fallback: "linearized_dp"
    }
    warnings: "beware"
    replanning { moved_stages: 2 kept_stages: 1 best_objective_ms: 9 time_lost_ms: 1 }
  )pb");
  std::string difference;
  MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(expected, plan)) << difference;
}

Plan Decoded(const v1::Plan& wire, Violations& violations) {
  const OperatorGraph graph = TwoOperators();
  const Cluster cluster = TwoDevices();
  return DecodePlan(wire, graph, IndexNames<OperatorId>(graph.operators), IndexNames<DeviceId>(cluster.devices),
                    violations);
}

TEST(PlanCodecTest, EveryNumberAndNameComesBack) {
  Plan plan = SmallPlan();
  plan.problem.schedule = ScheduleKind::kOneFOneB;
  plan.problem.micro_batches = 7;
  plan.stages[0].ring_order = {DeviceId(1), DeviceId(0)};
  plan.tasks[0].index_shift = 3;
  plan.baselines = {{"greedy", std::nullopt, "no"}, {"data_parallel", Picoseconds(11 * kMs), "yes", true}};
  plan.explanation = {.bottleneck = "device g1: 10 ms",
                      .slack = Picoseconds(kMs),
                      .relief = {{"device", "one more", Picoseconds(5 * kMs)}}};
  plan.provenance.seed = 9;
  plan.provenance.wall_time_ms = 1.25;
  plan.provenance.cpu_time_ms = 2.5;
  v1::Plan wire = EncodePlan(plan, TwoOperators(), TwoDevices());
  Violations violations;
  const Plan decoded = Decoded(wire, violations);
  EXPECT_THAT(Lines(violations), IsEmpty());
  v1::Plan again = EncodePlan(decoded, TwoOperators(), TwoDevices());
  wire.clear_problem();
  again.clear_problem();
  EXPECT_EQ(again.DebugString(), wire.DebugString());
}

TEST(PlanCodecTest, WhatWasNeverWrittenIsNotRead) {
  for (const char* change :
       {R"(stages { operators: "x" })", R"(stages { replicas { device: "x" } })", R"(objective_ms: nan)",
        R"(devices { device: "g0" stages: 5 })", R"(schedule { tasks { stage: -1 } })", R"(bounds { scope: 99 })"}) {
    v1::Plan wire = EncodedPlan();
    wire.MergeFrom(Wire<v1::Plan>(change));
    Violations violations;
    Decoded(wire, violations);
    EXPECT_EQ(violations.listed().size(), 1) << change;
  }
}

TEST(PlanCodecTest, PlacementComesBack) {
  Violations violations;
  const Placement placement = DecodePlacement(EncodedPlan(), TwoOperators(), TwoDevices(), violations);
  EXPECT_THAT(Lines(violations), IsEmpty());
  ASSERT_EQ(placement.stages.size(), 1);
  EXPECT_THAT(placement.stages[0].operators, ElementsAre(OperatorId(0), OperatorId(1)));
  EXPECT_THAT(placement.stages[0].devices, ElementsAre(DeviceId(1)));
}

TEST(PlanCodecTest, ReportsEveryNameThatResolvesToNothing) {
  Violations violations;
  DecodePlacement(Wire<v1::Plan>(R"pb(
                    stages {
                      operators: "a"
                      operators: "x"
                      replicas { device: "g0" }
                      replicas { device: "y" }
                    }
                    stages { operators: "z" }
                  )pb"),
                  TwoOperators(), TwoDevices(), violations);
  EXPECT_THAT(Lines(violations),
              ElementsAre("plan.stages[0].operators[1]: must name an operator of the graph, is \"x\"",
                          "plan.stages[0].replicas[1].device: must name a device of the cluster, is \"y\"",
                          "plan.stages[1].operators[0]: must name an operator of the graph, is \"z\""));
}

TEST(PlanCodecTest, PatternComesBack) {
  Plan plan = SmallPlan();
  plan.problem.schedule = ScheduleKind::kPeriodic;
  plan.tasks = {{"forward", StageId(0), Pass::kForward, "g1", Picoseconds(3 * kMs), 0},
                {"backward", StageId(0), Pass::kBackward, "g1", Picoseconds(5 * kMs), 2}};
  Violations violations;
  const v1::Plan wire = EncodePlan(plan, TwoOperators(), TwoDevices());
  EXPECT_EQ(wire.schedule().tasks(1).index_shift(), 2);
  EXPECT_EQ(DecodePlacement(wire, TwoOperators(), TwoDevices(), violations).pattern, PlacementOf(plan).pattern);
  EXPECT_THAT(Lines(violations), IsEmpty());
}

TEST(PlanCodecTest, APlanWithoutTasksHasNoPattern) {
  v1::Plan wire = EncodedPlan();
  Violations violations;
  EXPECT_EQ(DecodePlacement(wire, TwoOperators(), TwoDevices(), violations).pattern, std::nullopt);
  wire.mutable_schedule()->set_kind(v1::SCHEDULE_KIND_PERIODIC);
  wire.mutable_schedule()->clear_tasks();
  EXPECT_EQ(DecodePlacement(wire, TwoOperators(), TwoDevices(), violations).pattern, std::nullopt);
  EXPECT_THAT(Lines(violations), IsEmpty());
}

TEST(PlanCodecTest, ReportsTasksThatSayNothing) {
  Violations violations;
  DecodePlacement(Wire<v1::Plan>(R"pb(
                    stages { operators: "a" operators: "b" }
                    schedule {
                      kind: SCHEDULE_KIND_PERIODIC
                      tasks { operation: "sleep" start_ms: nan }
                      tasks { operation: "forward" stage: 1 }
                      tasks { operation: "forward" stage: -1 }
                    }
                  )pb"),
                  TwoOperators(), TwoDevices(), violations);
  EXPECT_THAT(Lines(violations),
              ElementsAre("plan.schedule.tasks[0].operation: must be forward, backward, send_forward or "
                          "send_backward, is \"sleep\"",
                          "plan.schedule.tasks[0].start_ms: must be finite and >= 0, is nan",
                          "plan.schedule.tasks[1].stage: must be the index of one of 1 stages, is 1",
                          "plan.schedule.tasks[2].stage: must be the index of one of 1 stages, is -1"));
}

std::vector<std::string> StatedViolations(const v1::Plan& stated) {
  Violations violations;
  CheckStatedNumbers(stated, EncodedPlan(), violations);
  return Lines(violations);
}

TEST(StatedNumbersTest, AcceptsThePlanItself) { EXPECT_THAT(StatedViolations(EncodedPlan()), IsEmpty()); }

TEST(StatedNumbersTest, AcceptsAPlanThatStatesNothing) {
  EXPECT_THAT(StatedViolations(Wire<v1::Plan>("stages { operators: 'a' operators: 'b' replicas { device: 'g1' } }")),
              IsEmpty());
}

TEST(StatedNumbersTest, ReportsEachNumberThatDiffers) {
  v1::Plan plan = EncodedPlan();
  plan.set_objective_ms(10.000000001);
  plan.mutable_stages(0)->set_compute_ms(6);
  plan.mutable_stages(0)->set_in_flight_micro_batches(4);
  plan.mutable_stages(0)->mutable_replicas(0)->set_load_ms(9);
  plan.mutable_devices(1)->set_memory_bytes(78);
  plan.mutable_estimate()->set_bubble_fraction(0.25);
  EXPECT_THAT(StatedViolations(plan),
              ElementsAre("plan.objective_ms: must be 10.000000000, is 10.000000001",
                          "plan.stages[0].compute_ms: must be 7.000000000, is 6.000000000",
                          "plan.stages[0].in_flight_micro_batches: must be 3, is 4",
                          "plan.stages[0].replicas[0].load_ms: must be 10.000000000, is 9.000000000",
                          "plan.devices[1].memory_bytes: must be 77, is 78",
                          "plan.estimate.bubble_fraction: must be 0.500000000, is 0.250000000"));
}

TEST(StatedNumbersTest, LinksWithoutADirectionAreNamedFromEitherEnd) {
  v1::Plan plan = EncodedPlan();
  v1::LinkUsage& link = *plan.mutable_links(0);
  link.mutable_device_a()->swap(*link.mutable_device_b());
  EXPECT_THAT(StatedViolations(plan), IsEmpty());
  link.set_load_ms(2);
  EXPECT_THAT(StatedViolations(plan), ElementsAre("plan.links[0].load_ms: must be 1.000000000, is 2.000000000"));
}

TEST(StatedNumbersTest, ReplicasBeyondThoseOfThePlanAreNotCompared) {
  v1::Plan plan = EncodedPlan();
  plan.mutable_stages(0)->add_replicas()->set_load_ms(3);
  EXPECT_THAT(StatedViolations(plan), IsEmpty());
}

TEST(StatedNumbersTest, ReportsBoundsAboveTheObjectiveAndFalseProofs) {
  v1::Plan plan = EncodedPlan();
  plan.set_lower_bound_ms(11);
  plan.mutable_provenance()->set_proven_optimal(true);
  EXPECT_THAT(StatedViolations(plan),
              ElementsAre("plan.lower_bound_ms: must be at most the objective 10.000000000, is 11.000000000",
                          "plan.lower_bound_ms: must be the largest of the bounds for the problem, 8.000000000, is "
                          "11.000000000",
                          "plan.relative_gap: must be -0.100000000, is 0.200000000",
                          "plan.provenance.proven_optimal: must be false: the lower bound 11.000000000 is not the "
                          "objective 10.000000000"));
}

TEST(StatedNumbersTest, ReportsDevicesThatTheClusterLacks) {
  v1::Plan plan = EncodedPlan();
  plan.add_devices()->set_device("g9");
  EXPECT_THAT(StatedViolations(plan),
              ElementsAre("plan.devices[2].device: must name a device of the cluster, is \"g9\""));
}

TEST(StatedNumbersTest, ReportsResourcesThatTasksDoNotUse) {
  v1::Plan plan = EncodedPlan();
  plan.mutable_schedule()->mutable_tasks(0)->set_resource("g0");
  plan.mutable_schedule()->mutable_tasks(0)->set_pass("forward");
  EXPECT_THAT(StatedViolations(plan), ElementsAre("plan.schedule.tasks[0].resource: must be \"g1\", is \"g0\"",
                                                  "plan.schedule.tasks[0].pass: must be \"backward\", is \"forward\""));
}

}  // namespace
}  // namespace planwright::server
