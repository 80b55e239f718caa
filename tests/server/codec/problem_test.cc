#include "server/codec/problem.h"

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

OperatorGraph TwoOperatorsOfModel() {
  OperatorGraph graph;
  for (const char* name : {"a", "b"}) graph.operators.emplace_back().name = name;
  graph.transformer.emplace().layers = 1;
  return graph;
}

PlanningProblem Decode(const v1::PlanningProblem& wire, Violations& violations) {
  return DecodeProblem(wire, TwoOperatorsOfModel(), TwoDevices(), FieldPath("problem"), violations);
}

TEST(ProblemCodecTest, EveryFieldMakesTheRoundTrip) {
  const auto wire = Wire<v1::PlanningProblem>(R"pb(
    objective: OBJECTIVE_MIN_DEVICES
    target_period_ms: 12.5
    workload: WORKLOAD_TRAINING
    split: SPLIT_NON_CONTIGUOUS
    max_stages_per_device: 2
    max_subgraphs_per_device: 3
    require_contiguous_backward: true
    replication: REPLICATION_PER_STAGE
    overlap: OVERLAP_FULL_DUPLEX
    schedule: SCHEDULE_KIND_GPIPE
    micro_batches: 8
    allreduce { factor: FACTOR_HALF amortize_over_micro_batches: true ring: RING_INDEX charge: CHARGE_PER_MICRO_BATCH }
    memory_model {
      kind: KIND_COMPONENTS
      weight_versions: 2
      gradient_copies: 0
      optimizer_bytes_per_parameter_byte: 6
      recomputation: RECOMPUTATION_FULL
      reserved_bytes: 5
      preset: "sgd"
    }
    num_stages: 4
    num_replicas: 5
    granularity: GRANULARITY_LAYER
    devices_to_use {
      hosts: "h"
      devices: "g1"
      match_labels { key: "k" value: "v" }
      excluded_devices: "g0"
      max_devices: 1
    }
    pinned { operator: "a" device: "g0" }
    forbidden { operator: "b" device: "g1" }
    start_from {
      stages { operators: "a" operators: "b" devices: "g0" devices: "g1" ring_order: "g1" ring_order: "g0" }
      joint {
        schedule: SCHEDULE_KIND_ZERO_BUBBLE_H1
        optimizer_sharding: OPTIMIZER_SHARDING_GRADIENTS
        degrees: JOINT_DEGREES_PER_STAGE
        micro_batch_samples: 2
        stages {
          tensor_degree: 2
          context_degree: 1
          expert_degree: 1
          data_degree: 4
          chunks {
            layers: "embedding"
            layers: "layer.0"
            layers: "head"
            recomputation: LAYER_RECOMPUTATION_NONE
            recomputation: LAYER_RECOMPUTATION_FULL
            recomputation: LAYER_RECOMPUTATION_NONE
          }
        }
      }
    }
    replan_tolerance: 0.25
    joint {
      global_batch: 64
      tensor_degrees: 1
      tensor_degrees: 2
      context_degrees: 1
      expert_degrees: 1
      data_degrees: 4
      micro_batch_samples: 2
      recomputation: LAYER_RECOMPUTATION_SELECTIVE
      optimizer_sharding: OPTIMIZER_SHARDING_PARAMETERS
      schedules: SCHEDULE_KIND_INTERLEAVED
      degrees: JOINT_DEGREES_UNIFORM
      first_layers_alike: true
      tokens_per_sample: 100
    }
  )pb");
  Violations violations;
  const PlanningProblem problem = Decode(wire, violations);
  EXPECT_THAT(Lines(violations), IsEmpty());
  std::string difference;
  MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(wire, EncodeProblem(problem, TwoOperatorsOfModel(), TwoDevices()))) << difference;
}

TEST(ProblemCodecTest, UnsetProblemIsTheDefaultProblem) {
  Violations violations;
  const PlanningProblem problem = Decode(v1::PlanningProblem(), violations);
  EXPECT_THAT(Lines(violations), IsEmpty());
  EXPECT_EQ(problem.workload, std::nullopt);
  EXPECT_EQ(problem.memory_model.kind, std::nullopt);
  EXPECT_EQ(problem.micro_batches, std::nullopt);
  EXPECT_EQ(problem.start_from.has_value(), false);
  EXPECT_TRUE(problem.devices_to_use.empty());
}

TEST(ProblemCodecTest, PatternsOverlapUnlessToldOtherwise) {
  Violations violations;
  auto wire = Wire<v1::PlanningProblem>("schedule: SCHEDULE_KIND_PERIODIC");
  EXPECT_EQ(Decode(wire, violations).overlap, Overlap::kOverlapped);
  wire.set_overlap(v1::OVERLAP_SERIAL);
  EXPECT_EQ(Decode(wire, violations).overlap, Overlap::kSerial);
  wire.set_overlap(v1::OVERLAP_FULL_DUPLEX);
  EXPECT_EQ(Decode(wire, violations).overlap, Overlap::kFullDuplex);
  EXPECT_EQ(Decode(v1::PlanningProblem(), violations).overlap, Overlap::kSerial);
}

// The joint search refuses the schedule; that nobody has asked for an overlap as well is no second error.
TEST(ProblemCodecTest, NothingOverlapsBesideJointSettings) {
  Violations violations;
  const auto wire = Wire<v1::PlanningProblem>("schedule: SCHEDULE_KIND_PERIODIC joint { global_batch: 8 }");
  EXPECT_EQ(Decode(wire, violations).overlap, Overlap::kSerial);
}

TEST(ProblemCodecTest, NamesADeviceOfAHost) {
  Cluster cluster = TwoDevices();
  cluster.devices[1].name = "host3/gpu0";
  Violations violations;
  DecodeProblem(
      Wire<v1::PlanningProblem>(R"pb(devices_to_use { excluded_devices: "host3" excluded_devices: "host" })pb"),
      TwoOperatorsOfModel(), cluster, FieldPath("problem"), violations);
  EXPECT_THAT(
      Lines(violations),
      ElementsAre("problem.devices_to_use.excluded_devices[0]: must name a device of the cluster, is \"host3\"; "
                  "devices of that host are \"host3/gpu0\" and so on",
                  "problem.devices_to_use.excluded_devices[1]: must name a device of the cluster, is \"host\""));
}

TEST(ProblemCodecTest, ReportsEveryNameThatResolvesToNothing) {
  Violations violations;
  Decode(Wire<v1::PlanningProblem>(R"pb(
           devices_to_use { devices: "x" excluded_devices: "g0" excluded_devices: "y" }
           pinned { operator: "a" device: "z" }
           forbidden { operator: "q" device: "g0" }
           start_from { stages { operators: "r" devices: "s" devices: "g0" } }
         )pb"),
         violations);
  EXPECT_THAT(Lines(violations),
              ElementsAre("problem.devices_to_use.devices[0]: must name a device of the cluster, is \"x\"",
                          "problem.devices_to_use.excluded_devices[1]: must name a device of the cluster, is \"y\"",
                          "problem.pinned[0].device: must name a device of the cluster, is \"z\"",
                          "problem.forbidden[0].operator: must name an operator of the graph, is \"q\"",
                          "problem.start_from.stages[0].operators[0]: must name an operator of the graph, is \"r\""));
}

TEST(ProblemCodecTest, DevicesOfTheStartThatHaveDisappearedAreKeptByName) {
  Violations violations;
  auto wire = Wire<v1::PlanningProblem>(R"pb(
    start_from {
      stages { operators: "a" devices: "gone" devices: "g1" ring_order: "g1" ring_order: "gone" }
      stages { operators: "b" devices: "g0" devices: "gone too" devices: "lost" }
    })pb");
  const PlanningProblem problem = Decode(wire, violations);
  EXPECT_THAT(Lines(violations), IsEmpty());
  EXPECT_THAT(problem.start_from->stages[0].devices, ElementsAre(DeviceId(1)));
  EXPECT_THAT(problem.start_from->stages[0].ring, ElementsAre(DeviceId(1)));
  ASSERT_EQ(problem.absent_devices.size(), 3U);
  EXPECT_EQ(problem.absent_devices[0].position, 0U);
  EXPECT_EQ(problem.absent_devices[2].stage, 1U);
  EXPECT_EQ(problem.absent_devices[2].position, 2U);
  // Said again where they were; rings count for nothing without them.
  wire.mutable_start_from()->mutable_stages(0)->mutable_ring_order()->RemoveLast();
  EXPECT_TRUE(MessageDifferencer::Equivalent(EncodeProblem(problem, TwoOperatorsOfModel(), TwoDevices()).start_from(),
                                             wire.start_from()));
}

TEST(ProblemCodecTest, RefusesAStartOnAnotherCluster) {
  Violations violations;
  Decode(Wire<v1::PlanningProblem>(R"pb(start_from {
                                          stages { operators: "a" devices: "gqu0" }
                                          stages { operators: "b" devices: "gqu1" }
                                        })pb"),
         violations);
  EXPECT_THAT(Lines(violations), ElementsAre("problem.start_from: must be on devices of which the cluster has one at "
                                             "least, it has none: \"gqu0\""));
}

TEST(ProblemCodecTest, ReportsTimesAndUnknownEnumNumbersBelowTheGivenPath) {
  auto wire = Wire<v1::PlanningProblem>("target_period_ms: inf");
  wire.set_schedule(static_cast<v1::ScheduleKind>(42));
  wire.mutable_memory_model()->set_kind(static_cast<v1::MemoryModel::Kind>(43));
  Violations violations;
  const FieldPath plan("plan");
  DecodeProblem(wire, TwoOperatorsOfModel(), TwoDevices(), plan.Field("problem"), violations);
  EXPECT_THAT(Lines(violations), ElementsAre("plan.problem.schedule: must be a value of ScheduleKind, is 42",
                                             "plan.problem.memory_model.kind: must be a value of Kind, is 43",
                                             "plan.problem.target_period_ms: must be finite and >= 0, is inf"));
}

TEST(OptionsCodecTest, ReadsEveryField) {
  Violations violations;
  const DecodedOptions decoded = DecodeOptions(Wire<v1::SolverOptions>(R"pb(
                                                 algorithm: ALGORITHM_LINEARIZED_DP
                                                 work_limit: 7
                                                 time_limit { seconds: 2 nanos: 5 }
                                                 relative_gap: 0.1
                                                 seed: 0
                                                 ideal_limit: 9
                                                 threads: 3
                                                 clusters: 64
                                                 clustering_alpha: 0.5
                                                 refinement_steps: 0
                                               )pb"),
                                               violations);
  EXPECT_THAT(Lines(violations), IsEmpty());
  EXPECT_EQ(decoded.options.algorithm, Algorithm::kLinearizedDp);
  EXPECT_EQ(decoded.options.work_limit, 7);
  EXPECT_EQ(decoded.time_limit, std::chrono::nanoseconds(2'000'000'005));
  EXPECT_EQ(decoded.options.relative_gap, 0.1);
  EXPECT_EQ(decoded.options.seed, 0);
  EXPECT_EQ(decoded.options.ideal_limit, 9);
  EXPECT_EQ(decoded.options.threads, 3);
  EXPECT_EQ(decoded.options.clusters, 64);
  EXPECT_EQ(decoded.options.clustering_alpha, 0.5);
  EXPECT_EQ(decoded.options.refinement_steps, 0);
}

TEST(OptionsCodecTest, UnsetMeansTheDefault) {
  Violations violations;
  const DecodedOptions decoded = DecodeOptions(v1::SolverOptions(), violations);
  EXPECT_EQ(decoded.options.seed, 1);
  EXPECT_EQ(decoded.options.relative_gap, 0);
  EXPECT_EQ(decoded.time_limit, std::nullopt);
  EXPECT_EQ(decoded.options.threads, std::nullopt);
}

TEST(OptionsCodecTest, ReportsNegativeTimeLimits) {
  Violations violations;
  DecodeOptions(Wire<v1::SolverOptions>("time_limit { seconds: -3 }"), violations);
  EXPECT_THAT(Lines(violations), ElementsAre("options.time_limit: must be a duration >= 0, is -3 s and 0 ns"));
}

}  // namespace
}  // namespace planwright::server
