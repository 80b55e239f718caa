#include "core/planner/algorithms/capabilities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "core/partition/baselines/baselines.h"
#include "core/planner/algorithms/algorithms.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Ne;
using ::testing::ResultOf;

struct AskedRequest {
  OperatorGraph graph;
  Cluster cluster = SmallCluster(2, 1);
  PlanningProblem problem;
  SolverOptions options;
};

// One operator that declares its memory.
AskedRequest Supported() {
  AskedRequest request;
  request.graph.operators = {MeasuredOperator("a", 1)};
  request.graph.operators[0].memory_bytes = 1;
  return request;
}

std::vector<Violation> Check(const AskedRequest& request) {
  Violations violations;
  CheckSupported(request.graph, request.cluster, request.problem, request.options, violations);
  return violations.listed();
}

// A setting that is planned.
struct PlannedCase {
  std::string name;
  std::function<void(AskedRequest&)> set;
};

std::string PlannedCaseName(const ::testing::TestParamInfo<PlannedCase>& info) { return info.param.name; }

class PlannedTest : public ::testing::TestWithParam<PlannedCase> {};

TEST_P(PlannedTest, HasNoViolation) {
  AskedRequest request = Supported();
  GetParam().set(request);
  EXPECT_THAT(Check(request), IsEmpty());
}

// Memory of operators that declare none.
void UseComponents(AskedRequest& request) { request.graph.operators[0].memory_bytes.reset(); }

void AskForPattern(AskedRequest& request) {
  request.cluster.interconnect = UniformInterconnect();
  request.problem.schedule = ScheduleKind::kPeriodic;
  request.problem.overlap = Overlap::kOverlapped;
}

INSTANTIATE_TEST_SUITE_P(
    Settings, PlannedTest,
    ::testing::Values(
        PlannedCase{"Defaults", [](AskedRequest&) {}},
        PlannedCase{"Throughput", [](AskedRequest& r) { r.problem.objective = Objective::kMaxThroughput; }},
        PlannedCase{"Inference", [](AskedRequest& r) { r.problem.workload = Workload::kInference; }},
        PlannedCase{"Training", [](AskedRequest& r) { r.problem.workload = Workload::kTraining; }},
        PlannedCase{"Contiguous", [](AskedRequest& r) { r.problem.split = Split::kContiguous; }},
        PlannedCase{"OneStagePerDevice", [](AskedRequest& r) { r.problem.max_stages_per_device = 1; }},
        PlannedCase{"NoReplication", [](AskedRequest& r) { r.problem.replication = Replication::kNone; }},
        PlannedCase{"Serial", [](AskedRequest& r) { r.problem.overlap = Overlap::kSerial; }},
        PlannedCase{"Overlapped", [](AskedRequest& r) { r.problem.overlap = Overlap::kOverlapped; }},
        PlannedCase{"FullDuplex", [](AskedRequest& r) { r.problem.overlap = Overlap::kFullDuplex; }},
        PlannedCase{"ReplicationPerStage", [](AskedRequest& r) { r.problem.replication = Replication::kPerStage; }},
        PlannedCase{"HalfAllReduce",
                    [](AskedRequest& r) {
                      r.problem.replication = Replication::kPerStage;
                      r.problem.allreduce.factor = AllReduce::Factor::kHalf;
                    }},
        PlannedCase{"AmortizedAllReduce",
                    [](AskedRequest& r) {
                      r.problem.replication = Replication::kPerStage;
                      r.problem.allreduce.amortize_over_micro_batches = true;
                    }},
        PlannedCase{"AllReducePerMicroBatch",
                    [](AskedRequest& r) {
                      r.problem.replication = Replication::kPerStage;
                      r.problem.allreduce.charge = AllReduce::Charge::kPerMicroBatch;
                    }},
        PlannedCase{"EqualReplicasInSteps",
                    [](AskedRequest& r) {
                      UseComponents(r);
                      r.cluster.interconnect = MatrixInterconnect();
                      r.problem.replication = Replication::kUniform;
                      r.problem.schedule = ScheduleKind::kOneFOneB;
                      r.problem.micro_batches = 4;
                      r.problem.num_stages = 1;
                      r.problem.num_replicas = 2;
                      r.problem.allreduce.ring = AllReduce::Ring::kIndex;
                      r.problem.pinned = {{OperatorId(0), DeviceId(0)}};
                      r.problem.forbidden = {{OperatorId(0), DeviceId(1)}};
                    }},
        PlannedCase{"StartFrom", [](AskedRequest& r) { r.problem.start_from = Placement(); }},
        PlannedCase{"Gpipe", [](AskedRequest& r) { r.problem.schedule = ScheduleKind::kGpipe; }},
        PlannedCase{"GpipeOverlappedAndReplicated",
                    [](AskedRequest& r) {
                      r.problem.schedule = ScheduleKind::kGpipe;
                      r.problem.overlap = Overlap::kOverlapped;
                      r.problem.replication = Replication::kPerStage;
                    }},
        PlannedCase{"Hierarchy", [](AskedRequest& r) { r.cluster.interconnect = HierarchyInterconnect(); }},
        PlannedCase{"HierarchicalDp",
                    [](AskedRequest& r) {
                      r.cluster.interconnect = HierarchyInterconnect();
                      r.options.algorithm = Algorithm::kHierarchicalDp;
                    }},
        PlannedCase{"OneFOneB", [](AskedRequest& r) { r.problem.schedule = ScheduleKind::kOneFOneB; }},
        PlannedCase{"PipedreamAsync", [](AskedRequest& r) { r.problem.schedule = ScheduleKind::kPipedreamAsync; }},
        PlannedCase{"HostStaged", [](AskedRequest& r) { r.cluster.interconnect = HostStagedInterconnect(); }},
        PlannedCase{"Uniform", [](AskedRequest& r) { r.cluster.interconnect = UniformInterconnect(); }},
        PlannedCase{"Grid", [](AskedRequest& r) { r.cluster.interconnect = GridInterconnect(); }},
        PlannedCase{"Links", [](AskedRequest& r) { r.cluster.interconnect = LinksInterconnect(); }},
        PlannedCase{"Matrix", [](AskedRequest& r) { r.cluster.interconnect = MatrixInterconnect(); }},
        PlannedCase{"Parmesan",
                    [](AskedRequest& r) {
                      r.cluster.interconnect = UniformInterconnect();
                      r.options.algorithm = Algorithm::kParmesan;
                    }},
        PlannedCase{"ReplicasPerStageOnAnyInterconnect",
                    [](AskedRequest& r) {
                      r.cluster.interconnect = MatrixInterconnect();
                      r.problem.replication = Replication::kPerStage;
                      r.problem.objective = Objective::kMinDevices;
                      r.problem.target_period = Milliseconds(1);
                      r.problem.num_stages = 1;
                    }},
        PlannedCase{"Ring", [](AskedRequest& r) { r.problem.allreduce.factor = AllReduce::Factor::kRing; }},
        PlannedCase{"Declared", [](AskedRequest& r) { r.problem.memory_model.kind = MemoryModel::Kind::kDeclared; }},
        PlannedCase{"Components",
                    [](AskedRequest& r) {
                      UseComponents(r);
                      r.problem.memory_model.kind = MemoryModel::Kind::kComponents;
                      r.problem.memory_model.preset = "adam_mixed";
                      r.problem.memory_model.reserved_bytes = 5;
                    }},
        PlannedCase{"NoRecomputation",
                    [](AskedRequest& r) { r.problem.memory_model.recomputation = MemoryModel::Recomputation::kNone; }},
        PlannedCase{"Operators", [](AskedRequest& r) { r.problem.granularity = Granularity::kOperator; }},
        PlannedCase{"WholeLayers", [](AskedRequest& r) { r.problem.granularity = Granularity::kLayer; }},
        PlannedCase{"Auto", [](AskedRequest& r) { r.options.algorithm = Algorithm::kAuto; }},
        PlannedCase{"IdealDp", [](AskedRequest& r) { r.options.algorithm = Algorithm::kIdealDp; }},
        PlannedCase{"LinearizedDp", [](AskedRequest& r) { r.options.algorithm = Algorithm::kLinearizedDp; }},
        PlannedCase{"Latency", [](AskedRequest& r) { r.problem.objective = Objective::kMinLatency; }},
        PlannedCase{"LatencyWithAllItsSettings",
                    [](AskedRequest& r) {
                      r.problem.objective = Objective::kMinLatency;
                      r.problem.split = Split::kNonContiguous;
                      r.problem.max_subgraphs_per_device = 2;
                      r.problem.granularity = Granularity::kLayer;
                      r.problem.pinned = {{OperatorId(0), DeviceId(0)}};
                      r.problem.forbidden = {{OperatorId(0), DeviceId(1)}};
                      r.options.algorithm = Algorithm::kLatencyAnnealing;
                    }},
        PlannedCase{"Periodic", AskForPattern},
        PlannedCase{"PeriodicWithAllItsSettings",
                    [](AskedRequest& r) {
                      AskForPattern(r);
                      UseComponents(r);
                      r.problem.overlap = Overlap::kFullDuplex;
                      r.problem.split = Split::kNonContiguous;
                      r.problem.max_stages_per_device = 3;
                      r.problem.memory_model.preset = "madpipe";
                      r.problem.devices_to_use.max_devices = 1;
                      r.options.algorithm = Algorithm::kMadpipe;
                    }},
        PlannedCase{"PeriodicWithRecomputation",
                    [](AskedRequest& r) {
                      AskForPattern(r);
                      UseComponents(r);
                      r.problem.workload = Workload::kTraining;
                      r.problem.memory_model.recomputation = MemoryModel::Recomputation::kFull;
                    }},
        PlannedCase{"NonContiguous", [](AskedRequest& r) { r.problem.split = Split::kNonContiguous; }},
        PlannedCase{"NetAnnealing",
                    [](AskedRequest& r) {
                      r.problem.split = Split::kNonContiguous;
                      r.options.algorithm = Algorithm::kNetAnnealing;
                    }},
        PlannedCase{"NetAnnealingOfReplicasUnderGpipe",
                    [](AskedRequest& r) {
                      r.problem.split = Split::kNonContiguous;
                      r.problem.replication = Replication::kPerStage;
                      r.problem.schedule = ScheduleKind::kGpipe;
                    }},
        PlannedCase{"Mip", [](AskedRequest& r) { r.options.algorithm = Algorithm::kMip; }},
        PlannedCase{"MipNonContiguousFullDuplex",
                    [](AskedRequest& r) {
                      r.problem.split = Split::kNonContiguous;
                      r.problem.overlap = Overlap::kFullDuplex;
                      r.options.algorithm = Algorithm::kMip;
                    }},
        PlannedCase{"MipLatency",
                    [](AskedRequest& r) {
                      r.problem.objective = Objective::kMinLatency;
                      r.options.algorithm = Algorithm::kMip;
                    }},
        PlannedCase{"NonContiguousOverlapped",
                    [](AskedRequest& r) {
                      r.problem.split = Split::kNonContiguous;
                      r.problem.overlap = Overlap::kOverlapped;
                    }},
        PlannedCase{"NonContiguousFullDuplex",
                    [](AskedRequest& r) {
                      r.problem.split = Split::kNonContiguous;
                      r.problem.overlap = Overlap::kFullDuplex;
                    }},
        PlannedCase{"NonContiguousLayers",
                    [](AskedRequest& r) {
                      r.problem.split = Split::kNonContiguous;
                      r.problem.granularity = Granularity::kLayer;
                    }},
        PlannedCase{"NonContiguousPinned",
                    [](AskedRequest& r) {
                      r.problem.split = Split::kNonContiguous;
                      r.problem.pinned = {{OperatorId(0), DeviceId(0)}};
                      r.problem.forbidden = {{OperatorId(0), DeviceId(1)}};
                    }},
        PlannedCase{"ResolvedNonContiguous",
                    [](AskedRequest& r) {
                      r.problem.split = Split::kNonContiguous;
                      r.problem = AsPosed(ResolveProblem(r.graph, r.problem));
                    }},
        PlannedCase{"ResolvedProblem", [](AskedRequest& r) { r.problem = AsPosed(ResolveProblem(r.graph, r.problem)); }}),
    PlannedCaseName);

// A setting that is refused, and the only violation that it must bring.
struct RefusedCase {
  std::string name;
  std::function<void(AskedRequest&)> set;
  std::string path;
  std::string rule;
};

class RefusedTest : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(RefusedTest, IsTheOnlyViolation) {
  AskedRequest request = Supported();
  GetParam().set(request);
  EXPECT_THAT(Check(request), ElementsAre(Violation{GetParam().path, GetParam().rule}));
}

std::string RefusedCaseName(const ::testing::TestParamInfo<RefusedCase>& info) { return info.param.name; }

// The rule of a refused value.
std::string IsRefused(const std::string& value, const std::string& supported) {
  return value + " is not supported by this version; supported: " + supported;
}

// That of a value which others allow.
std::string DoesNotGo(const std::string& value, const std::string& with, const std::string& supported) {
  return value + " does not go with " + with + " in this version; supported with it: " + supported;
}

RefusedCase Schedule(ScheduleKind kind, const std::string& name) {
  return {name, [kind](AskedRequest& r) { r.problem.schedule = kind; }, "problem.schedule",
          IsRefused(name, "unspecified, GPIPE, ONE_F_ONE_B, PIPEDREAM_ASYNC")};
}

INSTANTIATE_TEST_SUITE_P(
    Rows, RefusedTest,
    ::testing::Values(
        RefusedCase{"LatencyOverlapped",
                    [](AskedRequest& r) {
                      r.problem.objective = Objective::kMinLatency;
                      r.problem.overlap = Overlap::kOverlapped;
                    },
                    "problem.objective",
                    DoesNotGo("MIN_LATENCY", "problem.overlap OVERLAPPED", "MAX_THROUGHPUT, MIN_DEVICES")},
        RefusedCase{"OneStagePerDeviceNonContiguous",
                    [](AskedRequest& r) {
                      r.problem.split = Split::kNonContiguous;
                      r.problem.max_stages_per_device = 1;
                    },
                    "problem.max_stages_per_device", IsRefused("1", "unset")},
        RefusedCase{"UniformReplication", [](AskedRequest& r) { r.problem.replication = Replication::kUniform; },
                    "problem.replication", DoesNotGo("UNIFORM", "cluster.interconnect host_staged", "NONE, PER_STAGE")},
        Schedule(ScheduleKind::kInterleaved, "INTERLEAVED"), Schedule(ScheduleKind::kChimera, "CHIMERA"),
        Schedule(ScheduleKind::kZeroBubbleH1, "ZERO_BUBBLE_H1")),
    RefusedCaseName);

INSTANTIATE_TEST_SUITE_P(
    Defaults, RefusedTest,
    ::testing::Values(
        RefusedCase{"TwoStagesPerDevice", [](AskedRequest& r) { r.problem.max_stages_per_device = 2; },
                    "problem.max_stages_per_device", IsRefused("2", "unset, 1")},
        RefusedCase{"Subgraphs", [](AskedRequest& r) { r.problem.max_subgraphs_per_device = 1; },
                    "problem.max_subgraphs_per_device", IsRefused("1 with MAX_THROUGHPUT", "unset")},
        RefusedCase{"ContiguousBackward", [](AskedRequest& r) { r.problem.require_contiguous_backward = true; },
                    "problem.require_contiguous_backward", IsRefused("true", "false")},
        RefusedCase{"MicroBatches", [](AskedRequest& r) { r.problem.micro_batches = 8; }, "problem.micro_batches",
                    DoesNotGo("8", "cluster.interconnect host_staged", "unset")},
        RefusedCase{"HalfAllReduce", [](AskedRequest& r) { r.problem.allreduce.factor = AllReduce::Factor::kHalf; },
                    "problem.allreduce.factor", IsRefused("HALF without replication", "RING")},
        RefusedCase{"AllReducePerMicroBatchAmortized",
                    [](AskedRequest& r) {
                      r.problem.replication = Replication::kPerStage;
                      r.problem.allreduce.charge = AllReduce::Charge::kPerMicroBatch;
                      r.problem.allreduce.amortize_over_micro_batches = true;
                    },
                    "problem.allreduce.charge",
                    IsRefused("PER_MICRO_BATCH with amortize_over_micro_batches", "PER_ROUND")},
        RefusedCase{
            "AllReducePerMicroBatchInSteps",
            [](AskedRequest& r) {
              r.cluster.interconnect = UniformInterconnect();
              r.problem.replication = Replication::kUniform;
              r.problem.allreduce.charge = AllReduce::Charge::kPerMicroBatch;
              r.problem.micro_batches = 2;
            },
            "problem.allreduce.charge",
            IsRefused("PER_MICRO_BATCH with problem.micro_batches, which says how often steps reduce,", "PER_ROUND")},
        RefusedCase{"AllReducePerMicroBatchWithoutReplicas",
                    [](AskedRequest& r) { r.problem.allreduce.charge = AllReduce::Charge::kPerMicroBatch; },
                    "problem.allreduce.charge", IsRefused("PER_MICRO_BATCH without replication", "PER_ROUND")},
        RefusedCase{"Recomputation",
                    [](AskedRequest& r) { r.problem.memory_model.recomputation = MemoryModel::Recomputation::kFull; },
                    "problem.memory_model.recomputation", IsRefused("FULL", "NONE, or schedule PERIODIC")},
        RefusedCase{"RecomputationOfInference",
                    [](AskedRequest& r) {
                      AskForPattern(r);
                      UseComponents(r);
                      r.problem.workload = Workload::kInference;
                      r.problem.memory_model.recomputation = MemoryModel::Recomputation::kFull;
                    },
                    "problem.memory_model.recomputation",
                    IsRefused("FULL with INFERENCE, which keeps nothing,", "NONE")},
        RefusedCase{"RecomputationWithDeclaredMemory",
                    [](AskedRequest& r) {
                      AskForPattern(r);
                      r.problem.workload = Workload::kTraining;
                      r.problem.memory_model.recomputation = MemoryModel::Recomputation::kFull;
                    },
                    "problem.memory_model.recomputation",
                    IsRefused("FULL with DECLARED memory, of which it saves nothing,",
                              "NONE, or memory_model.kind COMPONENTS")},
        RefusedCase{"Stages",
                    [](AskedRequest& r) {
                      r.problem.num_stages = 3;
                      r.options.algorithm = Algorithm::kIdealDp;
                    },
                    "problem.num_stages", IsRefused("3", "unset, or options.algorithm AUTO")},
        RefusedCase{"Replicas",
                    [](AskedRequest& r) {
                      r.problem.num_replicas = 2;
                      r.options.algorithm = Algorithm::kIdealDp;
                    },
                    "problem.num_replicas", IsRefused("2", "unset, or options.algorithm AUTO")},
        RefusedCase{"Pinned",
                    [](AskedRequest& r) {
                      r.problem.pinned = {{OperatorId(0), DeviceId(0)}};
                      r.options.algorithm = Algorithm::kIdealDp;
                    },
                    "problem.pinned",
                    IsRefused("pinning", "empty, or options.algorithm AUTO, or problem.split NON_CONTIGUOUS")},
        RefusedCase{"PinnedReplicas",
                    [](AskedRequest& r) {
                      r.problem.split = Split::kNonContiguous;
                      r.problem.replication = Replication::kPerStage;
                      r.problem.pinned = {{OperatorId(0), DeviceId(0)}};
                    },
                    "problem.pinned", IsRefused("pinning", "empty")},
        RefusedCase{"PinnedReplicasPerStage",
                    [](AskedRequest& r) {
                      r.cluster.interconnect = MatrixInterconnect();
                      r.problem.replication = Replication::kPerStage;
                      r.problem.pinned = {{OperatorId(0), DeviceId(0)}};
                      r.options.algorithm = Algorithm::kParmesan;
                    },
                    "problem.pinned", IsRefused("pinning", "empty, or options.algorithm AUTO")},
        RefusedCase{"Forbidden",
                    [](AskedRequest& r) {
                      r.problem.forbidden = {{OperatorId(0), DeviceId(0)}};
                      r.options.algorithm = Algorithm::kIdealDp;
                    },
                    "problem.forbidden",
                    IsRefused("forbidding", "empty, or options.algorithm AUTO, or problem.split NON_CONTIGUOUS")},
        RefusedCase{"StartOfABaseline",
                    [](AskedRequest& r) {
                      r.problem.start_from = Placement();
                      r.options.algorithm = Algorithm::kGreedy;
                    },
                    "problem.start_from", IsRefused("a placement to start from", "unset, or options.algorithm AUTO")},
        RefusedCase{"ReplanTolerance", [](AskedRequest& r) { r.problem.replan_tolerance = 0.5; },
                    "problem.replan_tolerance", IsRefused("0.5 without problem.start_from", "unset")},
        RefusedCase{"RingByIndex",
                    [](AskedRequest& r) {
                      r.problem.replication = Replication::kPerStage;
                      r.problem.allreduce.ring = AllReduce::Ring::kIndex;
                      r.options.algorithm = Algorithm::kIdealDp;
                    },
                    "problem.allreduce.ring", IsRefused("INDEX", "FREE, or options.algorithm AUTO")},
        RefusedCase{"ComponentsAskedForUnderASchedule",
                    [](AskedRequest& r) {
                      r.problem.schedule = ScheduleKind::kOneFOneB;
                      r.options.algorithm = Algorithm::kIdealDp;
                      r.problem.memory_model.kind = MemoryModel::Kind::kComponents;
                    },
                    "problem.memory_model.kind",
                    IsRefused("COMPONENTS with problem.schedule ONE_F_ONE_B",
                              "DECLARED, options.algorithm AUTO, or an unspecified schedule")},
        RefusedCase{"ComponentsInferredUnderASchedule",
                    [](AskedRequest& r) {
                      UseComponents(r);
                      r.problem.schedule = ScheduleKind::kPipedreamAsync;
                      r.options.algorithm = Algorithm::kIdealDp;
                    },
                    "problem.schedule",
                    IsRefused("PIPEDREAM_ASYNC with COMPONENTS memory",
                              "unspecified, options.algorithm AUTO, or memory_bytes on every operator")},
        RefusedCase{"GpipeWithComponentsWhereStepsAreCounted",
                    [](AskedRequest& r) {
                      UseComponents(r);
                      r.problem.schedule = ScheduleKind::kGpipe;
                      r.cluster.interconnect = UniformInterconnect{1e9};
                    },
                    "problem.schedule",
                    IsRefused("GPIPE with COMPONENTS memory",
                              "unspecified, a number of problem.micro_batches, or memory_bytes on every operator")},
        RefusedCase{"ComponentsUnderAScheduleThatOthersPlan",
                    [](AskedRequest& r) {
                      UseComponents(r);
                      r.problem.schedule = ScheduleKind::kOneFOneB;
                      r.cluster.interconnect = UniformInterconnect{1e9};
                      r.options.algorithm = Algorithm::kIdealDp;
                    },
                    "problem.schedule",
                    IsRefused("ONE_F_ONE_B with COMPONENTS memory",
                              "unspecified, options.algorithm AUTO, or memory_bytes on every operator")}),
    RefusedCaseName);

INSTANTIATE_TEST_SUITE_P(
    Periodic, RefusedTest,
    ::testing::Values(
        RefusedCase{"PeriodicSerial",
                    [](AskedRequest& r) {
                      AskForPattern(r);
                      r.problem.overlap = Overlap::kSerial;
                    },
                    "problem.overlap", DoesNotGo("SERIAL", "problem.schedule PERIODIC", "OVERLAPPED, FULL_DUPLEX")},
        RefusedCase{"PeriodicThroughHostMemory",
                    [](AskedRequest& r) {
                      AskForPattern(r);
                      r.cluster.interconnect = HostStagedInterconnect();
                    },
                    "cluster.interconnect", DoesNotGo("host_staged", "problem.schedule PERIODIC", "uniform")},
        RefusedCase{"PeriodicReplicas",
                    [](AskedRequest& r) {
                      AskForPattern(r);
                      r.problem.replication = Replication::kPerStage;
                    },
                    "problem.replication", DoesNotGo("PER_STAGE", "problem.schedule PERIODIC", "NONE")},
        RefusedCase{"PeriodicPins",
                    [](AskedRequest& r) {
                      AskForPattern(r);
                      r.problem.split = Split::kNonContiguous;
                      r.problem.pinned = {{OperatorId(0), DeviceId(0)}};
                    },
                    "problem.pinned", IsRefused("pinning", "empty")},
        RefusedCase{"PeriodicOnCpus",
                    [](AskedRequest& r) {
                      AskForPattern(r);
                      r.problem.devices_to_use.devices = {DeviceId(2)};
                    },
                    "cluster.devices",
                    IsRefused("PERIODIC without accelerators",
                              "accelerators of one class; select them by problem.devices_to_use")},
        RefusedCase{"PeriodicOnTwoClasses",
                    [](AskedRequest& r) {
                      AskForPattern(r);
                      r.cluster.device_classes[1].kind = DeviceKind::kAccelerator;
                    },
                    "cluster.devices",
                    IsRefused("PERIODIC on accelerators of 2 classes",
                              "accelerators of one class; select them by problem.devices_to_use")},
        RefusedCase{"PeriodicWithoutWork",
                    [](AskedRequest& r) {
                      AskForPattern(r);
                      r.graph.operators[0].pass = Pass::kBackward;
                      r.problem.workload = Workload::kInference;
                    },
                    "problem.workload",
                    IsRefused("PERIODIC with BACKWARD operators only, which INFERENCE drops,", "TRAINING")}),
    RefusedCaseName);

std::vector<Violation> Judge(const AskedRequest& request) {
  Violations violations;
  CheckJudged(request.graph, request.cluster, request.problem, violations);
  return violations.listed();
}

void AskForLatency(AskedRequest& r) { r.problem.objective = Objective::kMinLatency; }

// A mode that is judged, whether a search plans it or not.
class JudgedTest : public ::testing::TestWithParam<PlannedCase> {};

TEST_P(JudgedTest, HasNoViolation) {
  AskedRequest request = Supported();
  GetParam().set(request);
  EXPECT_THAT(Judge(request), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Modes, JudgedTest,
    ::testing::Values(PlannedCase{"Defaults", [](AskedRequest&) {}},
                      PlannedCase{"SharedDevices", [](AskedRequest& r) { r.problem.split = Split::kNonContiguous; }},
                      PlannedCase{"Replicas",
                                  [](AskedRequest& r) {
                                    r.problem.replication = Replication::kPerStage;
                                    r.problem.allreduce.factor = AllReduce::Factor::kHalf;
                                  }},
                      PlannedCase{"EqualReplicas",
                                  [](AskedRequest& r) {
                                    r.problem.replication = Replication::kUniform;
                                    r.problem.allreduce.ring = AllReduce::Ring::kIndex;
                                    r.problem.num_stages = 1;
                                    r.problem.num_replicas = 2;
                                  }},
                      PlannedCase{"Steps",
                                  [](AskedRequest& r) {
                                    UseComponents(r);
                                    r.problem.replication = Replication::kUniform;
                                    r.problem.schedule = ScheduleKind::kOneFOneB;
                                    r.problem.micro_batches = 4;
                                    r.problem.allreduce.amortize_over_micro_batches = true;
                                  }},
                      PlannedCase{"GpipeHoldsTheActivationsOfAStep",
                                  [](AskedRequest& r) {
                                    UseComponents(r);
                                    r.problem.schedule = ScheduleKind::kGpipe;
                                    r.problem.micro_batches = 4;
                                  }},
                      PlannedCase{"Overlap", [](AskedRequest& r) { r.problem.overlap = Overlap::kFullDuplex; }},
                      PlannedCase{"Gpipe", [](AskedRequest& r) { r.problem.schedule = ScheduleKind::kGpipe; }},
                      PlannedCase{"Hierarchy",
                                  [](AskedRequest& r) { r.cluster.interconnect = HierarchyInterconnect(); }},
                      PlannedCase{"Layers", [](AskedRequest& r) { r.problem.granularity = Granularity::kLayer; }},
                      PlannedCase{"Constraints",
                                  [](AskedRequest& r) {
                                    r.problem.pinned = {{OperatorId(0), DeviceId(0)}};
                                    r.problem.forbidden = {{OperatorId(0), DeviceId(1)}};
                                    r.problem.devices_to_use.max_devices = 1;
                                  }},
                      PlannedCase{"Pattern", AskForPattern},
                      PlannedCase{"Latency",
                                  [](AskedRequest& r) {
                                    AskForLatency(r);
                                    r.problem.max_subgraphs_per_device = 2;
                                  }},
                      PlannedCase{"LatencyOnSharedDevices",
                                  [](AskedRequest& r) {
                                    AskForLatency(r);
                                    r.problem.split = Split::kNonContiguous;
                                  }},
                      PlannedCase{"ResolvedLatency",
                                  [](AskedRequest& r) {
                                    AskForLatency(r);
                                    r.problem = AsPosed(ResolveProblem(r.graph, r.problem));
                                  }}),
    PlannedCaseName);

// What is not judged either.
class NotJudgedTest : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(NotJudgedTest, IsTheOnlyViolation) {
  AskedRequest request = Supported();
  GetParam().set(request);
  EXPECT_THAT(Judge(request), ElementsAre(Violation{GetParam().path, GetParam().rule}));
}

INSTANTIATE_TEST_SUITE_P(
    Modes, NotJudgedTest,
    ::testing::Values(
        RefusedCase{"OverlappedLatency",
                    [](AskedRequest& r) {
                      AskForLatency(r);
                      r.problem.overlap = Overlap::kOverlapped;
                    },
                    "problem.objective",
                    DoesNotGo("MIN_LATENCY", "problem.overlap OVERLAPPED", "MAX_THROUGHPUT, MIN_DEVICES")},
        RefusedCase{"LatencyByBackwardTimes",
                    [](AskedRequest& r) {
                      AskForLatency(r);
                      r.graph.operators[0] = MeasuredOperator("a", 1, 2);
                    },
                    "problem.workload",
                    IsRefused("TRAINING by backward times with MIN_LATENCY",
                              "INFERENCE, or a graph whose backward pass has operators of its own (pass BACKWARD, "
                              "forward_operator, gradients as tensors)")},
        RefusedCase{"StagesOfSharedDevices",
                    [](AskedRequest& r) {
                      r.problem.split = Split::kNonContiguous;
                      r.problem.max_stages_per_device = 1;
                    },
                    "problem.max_stages_per_device", IsRefused("1", "unset")},
        RefusedCase{"GpipeWithComponents",
                    [](AskedRequest& r) {
                      UseComponents(r);
                      r.problem.schedule = ScheduleKind::kGpipe;
                    },
                    "problem.schedule",
                    IsRefused("GPIPE with COMPONENTS memory",
                              "unspecified, a number of problem.micro_batches, or memory_bytes on every operator")}),
    RefusedCaseName);

// Of one class they must differ in their memory only, except for Parmesan's search, which chooses them itself.
TEST(CapabilitiesTest, CountsDevicesOnlyWhereTheyAreConnectedAlike) {
  AskedRequest request = Supported();
  request.problem.objective = Objective::kMinDevices;
  request.problem.devices_to_use.max_devices = 2;
  EXPECT_THAT(Check(request), IsEmpty());
  request.cluster.interconnect = MatrixInterconnect();
  EXPECT_THAT(Check(request), IsEmpty());
  request.options.algorithm = Algorithm::kGreedy;
  std::vector<std::string> rules;
  for (const Violation& violation : Check(request)) rules.push_back(violation.path + ": " + violation.rule);
  EXPECT_THAT(
      rules, Contains("problem.objective: " + IsRefused("MIN_DEVICES with cluster.interconnect.matrix",
                                                        "host_staged, uniform, hierarchy, or options.algorithm AUTO")));
  EXPECT_THAT(rules, Contains("problem.devices_to_use.max_devices: " +
                              IsRefused("a limit with cluster.interconnect.matrix",
                                        "host_staged, uniform, hierarchy, or options.algorithm AUTO")));
}

// On `uniform` several algorithms plan contiguous stages.
TEST(CapabilitiesTest, AutoTakesEveryAlgorithmThatHeedsAllSettings) {
  AskedRequest request = Supported();
  request.cluster.interconnect = UniformInterconnect();
  const auto chosen = [](const AskedRequest& r) {
    return AlgorithmsInTurn(r.cluster, ResolveProblem(r.graph, r.problem), r.options);
  };
  EXPECT_THAT(chosen(request), IsSupersetOf({Algorithm::kIdealDp, Algorithm::kParmesan}));
  EXPECT_EQ(chosen(request).front(), Algorithm::kIdealDp);
  for (const Interconnect& network : {Interconnect(GridInterconnect()), Interconnect(NodesInterconnect())}) {
    AskedRequest replicated = request;
    replicated.cluster.interconnect = network;
    replicated.problem.replication = Replication::kPerStage;
    EXPECT_THAT(chosen(replicated), Contains(Algorithm::kParmesan));
    EXPECT_THAT(chosen(replicated), Each(Ne(Algorithm::kIdealDp)));
  }
  request.problem.num_stages = 1;
  EXPECT_THAT(chosen(request), Contains(Algorithm::kParmesan));
  EXPECT_THAT(chosen(request), Each(Ne(Algorithm::kIdealDp)));
  EXPECT_THAT(Check(request), IsEmpty());
  request.options.algorithm = Algorithm::kIdealDp;
  EXPECT_THAT(chosen(request), ElementsAre(Algorithm::kIdealDp));
  EXPECT_THAT(Check(request),
              ElementsAre(Violation{"problem.num_stages", IsRefused("1", "unset, or options.algorithm AUTO")}));
  request = Supported();
  request.cluster.interconnect = UniformInterconnect();
  request.problem.schedule = ScheduleKind::kOneFOneB;
  UseComponents(request);
  EXPECT_THAT(chosen(request), Each(Ne(Algorithm::kIdealDp)));
  EXPECT_THAT(Check(request), IsEmpty());
}

TEST(CapabilitiesTest, AutoTakesNeitherBaselinesNorTheIntegerProgram) {
  AskedRequest request = Supported();
  for (const Objective objective : {Objective::kMaxThroughput, Objective::kMinLatency}) {
    request.problem.objective = objective;
    const std::vector<Algorithm> chosen =
        AlgorithmsInTurn(request.cluster, ResolveProblem(request.graph, request.problem), request.options);
    EXPECT_FALSE(chosen.empty());
    EXPECT_THAT(chosen, Each(AllOf(Ne(Algorithm::kMip), ResultOf(IsBaseline, false))));
  }
}

TEST(CapabilitiesTest, FindsEverythingUnsupportedAtOnce) {
  AskedRequest request = Supported();
  request.problem.replication = Replication::kUniform;
  request.problem.schedule = ScheduleKind::kPeriodic;
  request.problem.require_contiguous_backward = true;
  EXPECT_EQ(Check(request).size(), 3U);
}

TEST(CapabilitiesTest, EveryAlgorithmOfTheTableIsDescribed) {
  std::set<Algorithm> described;
  std::set<std::string_view> names;
  for (const AlgorithmRow& info : Algorithms()) {
    EXPECT_FALSE(info.version.empty() || info.description.empty() || info.work_unit.empty()) << info.name;
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    described.insert(info.algorithm);
  }
  ASSERT_FALSE(Capabilities().empty());
  for (const Capability& row : Capabilities()) {
    EXPECT_FALSE(row.modes.description.empty());
    ASSERT_FALSE(row.algorithms.empty());
    for (const Algorithm algorithm : row.algorithms) EXPECT_TRUE(described.contains(algorithm));
  }
}

}  // namespace
}  // namespace planwright
