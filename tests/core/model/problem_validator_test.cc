#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "core/model/validator.h"
#include "tests/core/model/violation_matchers.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Request {
  OperatorGraph graph;
  Cluster cluster = SmallCluster(2);
  PlanningProblem problem;
  SolverOptions options;
};

// a -> b -> c on two accelerators.
Request Valid() {
  Request request;
  request.graph.operators = {MeasuredOperator("a", 1), MeasuredOperator("b", 2), MeasuredOperator("c", 3)};
  request.graph.tensors = {TimedTensor("ta", 0, {1}, 1), TimedTensor("tb", 1, {2}, 1)};
  return request;
}

std::vector<Violation> InProblem(const Request& request) {
  Violations violations;
  ValidateProblem(request.graph, request.cluster, request.problem, request.options, violations);
  return violations.listed();
}

// A valid request after one mutation, and the only violation that the mutation must bring.
struct ProblemCase {
  std::string name;
  std::function<void(Request&)> mutate;
  std::string path;
  std::string rule;
};

std::string ProblemCaseName(const ::testing::TestParamInfo<ProblemCase>& info) { return info.param.name; }

class ProblemRuleTest : public ::testing::TestWithParam<ProblemCase> {};

TEST_P(ProblemRuleTest, IsTheOnlyViolation) {
  Request request = Valid();
  GetParam().mutate(request);
  EXPECT_THAT(InProblem(request), ElementsAre(Breaks(GetParam().path, GetParam().rule)));
}

INSTANTIATE_TEST_SUITE_P(
    Numbers, ProblemRuleTest,
    ::testing::Values(
        ProblemCase{"TargetPeriod",
                    [](Request& r) {
                      r.problem.objective = Objective::kMinDevices;
                      r.problem.target_period = Picoseconds(0);
                    },
                    "problem.target_period_ms", "must be > 0, is 0"},
        ProblemCase{"NoTargetPeriod", [](Request& r) { r.problem.objective = Objective::kMinDevices; },
                    "problem.target_period_ms", "must be set, because problem.objective is MIN_DEVICES"},
        ProblemCase{"TargetOfAnotherObjective", [](Request& r) { r.problem.target_period = Picoseconds(1); },
                    "problem.target_period_ms", "must not be set unless problem.objective is MIN_DEVICES"},
        ProblemCase{"PinnedOutside",
                    [](Request& r) {
                      r.problem.devices_to_use.devices = {DeviceId(0)};
                      r.problem.pinned = {{OperatorId(0), DeviceId(0)}, {OperatorId(1), DeviceId(1)}};
                    },
                    "problem.pinned[1].device", "must be a device that problem.devices_to_use selects, is \"acc1\""},
        ProblemCase{"StagesPerDevice", [](Request& r) { r.problem.max_stages_per_device = 0; },
                    "problem.max_stages_per_device", "must be >= 1, is 0"},
        ProblemCase{"Subgraphs", [](Request& r) { r.problem.max_subgraphs_per_device = -1; },
                    "problem.max_subgraphs_per_device", "must be >= 1, is -1"},
        ProblemCase{"MicroBatches", [](Request& r) { r.problem.micro_batches = 0; }, "problem.micro_batches",
                    "must be >= 1, is 0"},
        ProblemCase{"Stages", [](Request& r) { r.problem.num_stages = 0; }, "problem.num_stages", "must be >= 1, is 0"},
        ProblemCase{"Replicas", [](Request& r) { r.problem.num_replicas = 0; }, "problem.num_replicas",
                    "must be >= 1, is 0"},
        ProblemCase{"MoreStagesThanDevices", [](Request& r) { r.problem.num_stages = 9; }, "problem.num_stages",
                    "must leave a device for each copy of each stage: 9 stages of 1 replica need 9, there are 2"},
        ProblemCase{"MoreCopiesThanDevices",
                    [](Request& r) {
                      r.problem.replication = Replication::kUniform;
                      r.problem.num_stages = 2;
                      r.problem.num_replicas = 2;
                    },
                    "problem.num_stages",
                    "must leave a device for each copy of each stage: 2 stages of 2 replicas need 4, there are 2"},
        ProblemCase{"MoreReplicasThanMaxDevices",
                    [](Request& r) {
                      r.problem.replication = Replication::kUniform;
                      r.problem.devices_to_use.max_devices = 1;
                      r.problem.num_replicas = 2;
                    },
                    "problem.num_replicas",
                    "must leave a device for each copy of each stage: 1 stage of 2 replicas need 2, there are 1"},
        ProblemCase{"ReplicasWithoutReplication", [](Request& r) { r.problem.num_replicas = 2; },
                    "problem.num_replicas", "must be 1 or unset unless problem.replication is UNIFORM, is 2"},
        ProblemCase{"MaxDevices", [](Request& r) { r.problem.devices_to_use.max_devices = 0; },
                    "problem.devices_to_use.max_devices", "must be >= 1, is 0"},
        ProblemCase{"WeightVersions", [](Request& r) { r.problem.memory_model.weight_versions = 0; },
                    "problem.memory_model.weight_versions", "must be >= 1, is 0"},
        ProblemCase{"GradientCopies", [](Request& r) { r.problem.memory_model.gradient_copies = -1; },
                    "problem.memory_model.gradient_copies", "must be >= 0, is -1"},
        ProblemCase{"Optimizer", [](Request& r) { r.problem.memory_model.optimizer_bytes_per_parameter_byte = -0.5; },
                    "problem.memory_model.optimizer_bytes_per_parameter_byte", "must be finite and >= 0, is -0.5"},
        ProblemCase{"ReservedBytes", [](Request& r) { r.problem.memory_model.reserved_bytes = -1; },
                    "problem.memory_model.reserved_bytes", "must be >= 0, is -1"},
        ProblemCase{"Preset", [](Request& r) { r.problem.memory_model.preset = "lion"; }, "problem.memory_model.preset",
                    "must be \"sgd\", \"adam_mixed\" or \"madpipe\", is \"lion\""},
        ProblemCase{"WorkLimit", [](Request& r) { r.options.work_limit = 0; }, "options.work_limit",
                    "must be >= 1, is 0"},
        ProblemCase{"IdealLimit", [](Request& r) { r.options.ideal_limit = 0; }, "options.ideal_limit",
                    "must be >= 1, is 0"},
        ProblemCase{"Clusters", [](Request& r) { r.options.clusters = 0; }, "options.clusters", "must be >= 1, is 0"},
        ProblemCase{"ClusteringAlpha", [](Request& r) { r.options.clustering_alpha = -1; }, "options.clustering_alpha",
                    "must be finite and >= 0, is -1"},
        ProblemCase{"RefinementSteps", [](Request& r) { r.options.refinement_steps = -1; }, "options.refinement_steps",
                    "must be >= 0, is -1"},
        ProblemCase{"ReplanTolerance", [](Request& r) { r.problem.replan_tolerance = -0.5; },
                    "problem.replan_tolerance", "must be finite and >= 0, is -0.5"},
        ProblemCase{"Threads", [](Request& r) { r.options.threads = 0; }, "options.threads", "must be >= 1, is 0"},
        ProblemCase{"Gap", [](Request& r) { r.options.relative_gap = 1; }, "options.relative_gap",
                    "must be in [0, 1), is 1"},
        ProblemCase{"GapNan", [](Request& r) { r.options.relative_gap = std::numeric_limits<double>::quiet_NaN(); },
                    "options.relative_gap", "must be in [0, 1), is nan"}),
    ProblemCaseName);

const OperatorDevice kUnknownOperator = {OperatorId(3), DeviceId(0)};
const OperatorDevice kUnknownDevice = {OperatorId(0), DeviceId(2)};

INSTANTIATE_TEST_SUITE_P(
    Ids, ProblemRuleTest,
    ::testing::Values(
        ProblemCase{"Device",
                    [](Request& r) {
                      r.problem.devices_to_use.devices = {DeviceId(1), DeviceId(2)};
                    },
                    "problem.devices_to_use.devices[1]", "must be a device of the cluster, is number 2"},
        ProblemCase{"ExcludedDevice", [](Request& r) { r.problem.devices_to_use.excluded_devices = {DeviceId(2)}; },
                    "problem.devices_to_use.excluded_devices[0]", "must be a device of the cluster, is number 2"},
        ProblemCase{"PinnedOperator", [](Request& r) { r.problem.pinned = {kUnknownOperator}; },
                    "problem.pinned[0].operator", "must be an operator of the graph, is number 3"},
        ProblemCase{"PinnedDevice", [](Request& r) { r.problem.pinned = {kUnknownDevice}; }, "problem.pinned[0].device",
                    "must be a device of the cluster, is number 2"},
        ProblemCase{"ForbiddenDevice", [](Request& r) { r.problem.forbidden = {kUnknownDevice}; },
                    "problem.forbidden[0].device", "must be a device of the cluster, is number 2"},
        ProblemCase{"StartOperator",
                    [](Request& r) {
                      r.problem.start_from = Placement{{{{OperatorId(0), OperatorId(5)}, {}}}};
                    },
                    "problem.start_from.stages[0].operators[1]", "must be an operator of the graph, is number 5"},
        ProblemCase{"StartDevice",
                    [](Request& r) {
                      r.problem.start_from = Placement{{{{}, {}}, {{}, {DeviceId(7)}}}};
                    },
                    "problem.start_from.stages[1].devices[0]", "must be a device of the cluster, is number 7"},
        ProblemCase{"StartRing",
                    [](Request& r) {
                      r.problem.start_from = Placement{{{{}, {}, {DeviceId(0), DeviceId(7)}}}};
                    },
                    "problem.start_from.stages[0].ring_order[1]", "must be a device of the cluster, is number 7"}),
    ProblemCaseName);

void Declare(Request& request) {
  for (Operator& op : request.graph.operators) op.memory_bytes = 1;
}

constexpr char kDeclaredRule[] =
    "must not be set, because memory is DECLARED; set problem.memory_model.kind to COMPONENTS";

INSTANTIATE_TEST_SUITE_P(
    Agreement, ProblemRuleTest,
    ::testing::Values(
        ProblemCase{"HostStagedWithoutBandwidth", [](Request& r) { r.graph.tensors[1].transfer.reset(); },
                    "graph.tensors[1].transfer_ms",
                    "must be set, because cluster.interconnect.host_staged has no bandwidth_bytes_per_second"},
        ProblemCase{"UniformWithoutBandwidth",
                    [](Request& r) {
                      r.cluster.interconnect = UniformInterconnect();
                      r.graph.tensors[0].transfer.reset();
                    },
                    "graph.tensors[0].transfer_ms",
                    "must be set, because cluster.interconnect.uniform has no bandwidth_bytes_per_second"},
        ProblemCase{"DeclaredWithoutMemory",
                    [](Request& r) {
                      Declare(r);
                      r.graph.operators[2].memory_bytes.reset();
                      r.problem.memory_model.kind = MemoryModel::Kind::kDeclared;
                    },
                    "graph.operators[2].memory_bytes", "must be set, because problem.memory_model.kind is DECLARED"},
        ProblemCase{"DeclaredWithPreset",
                    [](Request& r) {
                      Declare(r);
                      r.problem.memory_model.preset = "sgd";
                    },
                    "problem.memory_model.preset", kDeclaredRule},
        ProblemCase{"DeclaredWithVersions",
                    [](Request& r) {
                      Declare(r);
                      r.problem.memory_model.weight_versions = 2;
                    },
                    "problem.memory_model.weight_versions", kDeclaredRule},
        ProblemCase{"DeclaredWithGradients",
                    [](Request& r) {
                      Declare(r);
                      r.problem.memory_model.gradient_copies = 2;
                    },
                    "problem.memory_model.gradient_copies", kDeclaredRule},
        ProblemCase{"DeclaredWithOptimizer",
                    [](Request& r) {
                      Declare(r);
                      r.problem.memory_model.optimizer_bytes_per_parameter_byte = 2;
                    },
                    "problem.memory_model.optimizer_bytes_per_parameter_byte", kDeclaredRule},
        ProblemCase{"DeclaredWithReserve",
                    [](Request& r) {
                      Declare(r);
                      r.problem.memory_model.reserved_bytes = 2;
                    },
                    "problem.memory_model.reserved_bytes", kDeclaredRule}),
    ProblemCaseName);

constexpr int64_t kHalf = kMaxQuantity / 2;

INSTANTIATE_TEST_SUITE_P(
    Sums, ProblemRuleTest,
    ::testing::Values(
        ProblemCase{"OperatorTimes",
                    [](Request& r) {
                      r.graph.operators[0].costs[0].forward = Picoseconds(kHalf);
                      r.graph.operators[1].costs[0].backward = Picoseconds(kHalf);
                    },
                    "graph.operators", "times of all operators must sum to less than 2^62 ps"},
        ProblemCase{"Transfers", [](Request& r) { r.graph.tensors[0].transfer = Picoseconds(kMaxQuantity / 4); },
                    "graph.tensors", "times of all operators and transfers must sum to less than 2^62 ps"},
        ProblemCase{"SlowLink",
                    [](Request& r) {
                      r.cluster.interconnect = HostStagedInterconnect{.bandwidth_bytes_per_second = 1};
                      r.graph.tensors[0].transfer.reset();
                      r.graph.tensors[0].size_bytes = 10'000'000;
                    },
                    "graph.tensors", "times of all operators and transfers must sum to less than 2^62 ps"},
        ProblemCase{"RelayedTransfers",
                    [](Request& r) {
                      r.cluster = SmallCluster(3, 0, UniformInterconnect());
                      r.problem.schedule = ScheduleKind::kPeriodic;
                      // Three stages: there and back over two cuts and a bit, for seven micro-batches.
                      r.graph.tensors[0].transfer = Picoseconds(kMaxQuantity / 42);
                    },
                    "graph.tensors",
                    "times of all operators and transfers, as often as stages relay them and micro-batches are in "
                    "flight, must sum to less than 2^62 ps, because the schedule is PERIODIC"},
        ProblemCase{"StepTimes",
                    [](Request& r) {
                      r.problem.micro_batches = 1000;
                      r.graph.operators[0].costs[0].forward = Picoseconds(kMaxQuantity / 1000);
                    },
                    "problem.micro_batches", "must be so few that a step lasts less than 2^62 ps, is 1000"},
        ProblemCase{"BytesInFlight",
                    [](Request& r) {
                      r.cluster = SmallCluster(3, 0, UniformInterconnect());
                      r.problem.schedule = ScheduleKind::kPeriodic;
                      r.graph.operators[0].activation_bytes = kMaxQuantity / 7;
                    },
                    "graph.operators", "memory of all operators and transfer buffers must sum to less than 2^62 bytes"},
        ProblemCase{"BytesThatFillAPipeline",
                    [](Request& r) {
                      r.problem.schedule = ScheduleKind::kOneFOneB;
                      // Two devices have up to twelve micro-batches in flight.
                      r.graph.operators[0].activation_bytes = kMaxQuantity / 11;
                    },
                    "graph.operators", "memory of all operators and transfer buffers must sum to less than 2^62 bytes"},
        ProblemCase{"BytesOfAStep",
                    [](Request& r) {
                      r.problem.schedule = ScheduleKind::kOneFOneB;
                      r.problem.micro_batches = 20;
                      r.graph.operators[0].activation_bytes = kMaxQuantity / 19;
                    },
                    "graph.operators", "memory of all operators and transfer buffers must sum to less than 2^62 bytes"},
        ProblemCase{"Estimates",
                    [](Request& r) {
                      r.cluster.device_classes[1].peak_flops = 1;
                      r.graph.operators[0].forward_flops = 1e7;
                    },
                    "cluster.device_classes[1]",
                    "must be fast enough that estimated times of all operators sum to less than 2^62 ps"},
        ProblemCase{"DeclaredBytes",
                    [](Request& r) {
                      Declare(r);
                      r.graph.operators[0].memory_bytes = kHalf;
                      r.graph.operators[2].memory_bytes = kHalf;
                    },
                    "graph.operators", "memory_bytes of all operators must sum to less than 2^62"},
        ProblemCase{"ComponentBytes",
                    [](Request& r) {
                      r.graph.operators[0].parameter_bytes = kMaxQuantity / 8;
                      r.problem.memory_model.optimizer_bytes_per_parameter_byte = 7;
                    },
                    "graph.operators", "memory of all operators and transfer buffers must sum to less than 2^62 bytes"},
        ProblemCase{"WorkspaceBytes", [](Request& r) { r.graph.operators[1].workspace_bytes = kMaxQuantity; },
                    "graph.operators", "memory of all operators and transfer buffers must sum to less than 2^62 bytes"},
        ProblemCase{"BufferBytes", [](Request& r) { r.graph.tensors[0].size_bytes = kMaxQuantity / 4; },
                    "graph.operators",
                    "memory of all operators and transfer buffers must sum to less than 2^62 bytes"}),
    ProblemCaseName);

// a and c share a device; the class "accelerator" cannot run b.
void Constrain(Request& r, const std::vector<OperatorDevice>& pinned,
               const std::vector<OperatorDevice>& forbidden = {}) {
  r.cluster = SmallCluster(2, 2);
  r.graph.operators[0].colocation_group = r.graph.operators[2].colocation_group = "g";
  r.graph.operators[1].unsupported_device_classes = {kAcceleratorClass};
  r.problem.pinned = pinned;
  r.problem.forbidden = forbidden;
}

OperatorDevice On(std::size_t op, std::size_t device) { return {OperatorId(op), DeviceId(device)}; }

INSTANTIATE_TEST_SUITE_P(
    Constraints, ProblemRuleTest,
    ::testing::Values(
        ProblemCase{"PinWithoutSupport",
                    [](Request& r) {
                      Constrain(r, {On(0, 1), On(1, 1)});
                    },
                    "problem.pinned[1].device", R"(must be able to run "b", "acc1" cannot)"},
        ProblemCase{"PinWithoutCosts",
                    [](Request& r) {
                      Constrain(r, {On(0, 2)});
                      r.graph.operators[0].costs.pop_back();
                    },
                    "problem.pinned[0].device", R"(must be able to run "a", "cpu0" cannot)"},
        ProblemCase{"PinWithoutSupportForTheUnion",
                    [](Request& r) {
                      Constrain(r, {On(0, 0)});
                      r.graph.operators[1].colocation_group = "g";
                    },
                    "problem.pinned[0].device",
                    R"(must be able to run "b", which shares the device of "a", "acc0" cannot)"},
        ProblemCase{"PinOfAnotherWithoutSupportForTheFirst",
                    [](Request& r) {
                      Constrain(r, {On(2, 0)});
                      r.graph.operators[0].unsupported_device_classes = {kAcceleratorClass};
                    },
                    "problem.pinned[0].device",
                    R"(must be able to run "a", which shares the device of "c", "acc0" cannot)"},
        ProblemCase{"TwoPinsOfAnOperator",
                    [](Request& r) {
                      Constrain(r, {On(1, 2), On(1, 3)});
                    },
                    "problem.pinned[1].device", R"(must be "cpu0" as problem.pinned[0] says of the same operator)"},
        ProblemCase{"TwoPinsOfAUnion",
                    [](Request& r) {
                      Constrain(r, {On(2, 0), On(0, 1)});
                    },
                    "problem.pinned[1].device",
                    R"(must be "acc0" as of "c" in problem.pinned[0]: the two must share a device)"},
        ProblemCase{"TwoPinsOfALayer",
                    [](Request& r) {
                      Constrain(r, {On(0, 2), On(1, 3)});
                      r.graph.operators[0].layer = r.graph.operators[1].layer = "l";
                      r.problem.granularity = Granularity::kLayer;
                    },
                    "problem.pinned[1].device",
                    R"(must be "cpu0" as of "a" in problem.pinned[0]: the two must share a device)"},
        ProblemCase{"PinnedAndForbidden",
                    [](Request& r) {
                      Constrain(r, {On(0, 1)}, {On(0, 0), On(0, 1)});
                    },
                    "problem.forbidden[1].device", R"(must not be "acc1", to which problem.pinned[0] pins "a")"},
        ProblemCase{"PinnedAndForbiddenInAUnion", [](Request& r) { Constrain(r, {On(0, 1)}, {On(2, 1)}); },
                    "problem.forbidden[0].device", R"(must not be "acc1", to which problem.pinned[0] pins "a")"},
        ProblemCase{"OneOperatorOfThePoolOnTwoCpus",
                    [](Request& r) {
                      Constrain(r, {On(0, 2), On(0, 3)});
                      r.problem.objective = Objective::kMinLatency;
                    },
                    "problem.pinned[1].device", R"(must be "cpu0" as problem.pinned[0] says of the same operator)"}),
    ProblemCaseName);

TEST(ProblemValidatorTest, AcceptsConstraintsThatAgree) {
  Request request = Valid();
  Constrain(request, {On(0, 1), On(2, 1), On(0, 1), On(1, 3)}, {On(0, 0), On(1, 2), On(1, 1)});
  EXPECT_THAT(InProblem(request), IsEmpty());
}

// The CPUs count as one device for MIN_LATENCY, and prohibitions still speak of each.
TEST(ProblemValidatorTest, UnionsMaySpreadOverThePoolOfCpus) {
  Request request = Valid();
  Constrain(request, {On(0, 2), On(2, 3)}, {On(2, 2)});
  EXPECT_FALSE(InProblem(request).empty());
  request.problem.objective = Objective::kMinLatency;
  EXPECT_THAT(InProblem(request), IsEmpty());
}

TEST(ProblemValidatorTest, PinsOfDroppedOperatorsSayNothing) {
  Request request = Valid();
  Constrain(request, {On(0, 0), On(2, 1)});
  request.graph.operators[2].pass = Pass::kBackward;
  request.problem.workload = Workload::kInference;
  EXPECT_THAT(InProblem(request), IsEmpty());
}

void Replicate(Request& r, Interconnect interconnect) {
  r.cluster.interconnect = std::move(interconnect);
  r.problem.replication = Replication::kPerStage;
  r.problem.workload = Workload::kTraining;
}

INSTANTIATE_TEST_SUITE_P(
    Replication, ProblemRuleTest,
    ::testing::Values(
        ProblemCase{"HostStagedWithoutBandwidth", [](Request& r) { Replicate(r, HostStagedInterconnect()); },
                    "cluster.interconnect.host_staged.bandwidth_bytes_per_second",
                    "must be set, because replicas that train reduce their gradients over it"},
        ProblemCase{"UniformWithoutBandwidth", [](Request& r) { Replicate(r, UniformInterconnect()); },
                    "cluster.interconnect.uniform.bandwidth_bytes_per_second",
                    "must be set, because replicas that train reduce their gradients over it"},
        ProblemCase{"TooManyDevices",
                    [](Request& r) {
                      r.cluster = SmallCluster(2'049);
                      Replicate(r, UniformInterconnect{.bandwidth_bytes_per_second = 1e9});
                    },
                    "problem.replication", "must be NONE or UNIFORM on more than 2048 devices, there are 2049"},
        ProblemCase{"SlowAllReduce",
                    [](Request& r) {
                      Replicate(r, UniformInterconnect{.bandwidth_bytes_per_second = 1});
                      r.graph.operators[0].parameter_bytes = 2'400'000;
                    },
                    "graph.tensors", "times of all operators and transfers must sum to less than 2^62 ps"}),
    ProblemCaseName);

TEST(ProblemValidatorTest, ReplicasThatInferNeedNoBandwidth) {
  Request request = Valid();
  Replicate(request, UniformInterconnect());
  request.problem.workload = Workload::kInference;
  EXPECT_THAT(InProblem(request), IsEmpty());
}

Interconnect TwoLevels(double outer_bandwidth) {
  return HierarchyInterconnect{.levels = {{.fan_out = 1, .bandwidth_bytes_per_second = 1e9},
                                          {.fan_out = 2, .bandwidth_bytes_per_second = outer_bandwidth}}};
}

INSTANTIATE_TEST_SUITE_P(
    Hierarchy, ProblemRuleTest,
    ::testing::Values(ProblemCase{"TimeWithoutSize",
                                  [](Request& r) {
                                    r.cluster.interconnect = TwoLevels(1e9);
                                    r.graph.tensors[0].size_bytes = 1;
                                  },
                                  "graph.tensors[1].size_bytes",
                                  "must be set, because cluster.interconnect.hierarchy does not heed transfer_ms"},
                      ProblemCase{"TooSlow",
                                  [](Request& r) {
                                    r.cluster.interconnect = TwoLevels(1);
                                    r.graph.tensors[0].size_bytes = 1'200'000;
                                    r.graph.tensors[1].transfer = Picoseconds(0);
                                  },
                                  "graph.tensors",
                                  "times of all operators and transfers must sum to less than 2^62 ps"}),
    ProblemCaseName);

TEST(ProblemValidatorTest, OnlySchedulesThatFillAPipelineStoreForIt) {
  Request request = Valid();
  request.graph.operators[0].activation_bytes = kMaxQuantity / 11;
  for (const ScheduleKind schedule : {ScheduleKind::kSteadyState, ScheduleKind::kGpipe}) {
    request.problem.schedule = schedule;
    EXPECT_THAT(InProblem(request), IsEmpty());
  }
}

TEST(ProblemValidatorTest, AcceptsTheLeastOfEveryOption) {
  Request request = Valid();
  request.options.work_limit = request.options.ideal_limit = 1;
  request.options.threads = request.options.clusters = 1;
  request.options.clustering_alpha = 0;
  request.options.refinement_steps = 0;
  request.options.relative_gap = 0;
  EXPECT_THAT(InProblem(request), IsEmpty());
}

TEST(ProblemValidatorTest, AcceptsAValidProblem) { EXPECT_THAT(InProblem(Valid()), IsEmpty()); }

TEST(ProblemValidatorTest, BandwidthStandsInForTransferTimes) {
  Request request = Valid();
  request.graph.tensors[0].transfer.reset();
  request.cluster.interconnect = UniformInterconnect{.bandwidth_bytes_per_second = 1e9};
  EXPECT_THAT(InProblem(request), IsEmpty());
}

TEST(ProblemValidatorTest, TensorsThatCannotCrossNeedNoTransferTime) {
  Request request = Valid();
  request.graph.tensors.push_back(SizedTensor("output", 2, {}, 4));
  request.graph.operators[1].pass = request.graph.operators[2].pass = Pass::kBackward;
  request.graph.tensors[1].transfer.reset();
  request.problem.workload = Workload::kInference;
  EXPECT_THAT(InProblem(request), IsEmpty());
}

TEST(ProblemValidatorTest, OperatorsThatNoDeviceSupportsAreNotItsBusiness) {
  Request request = Valid();
  request.graph.operators[0].unsupported_device_classes = {kAcceleratorClass, kCpuClass};
  EXPECT_THAT(InProblem(request), IsEmpty());
}

TEST(ProblemValidatorTest, AcceptsItsOwnResolvedProblem) {
  Request request = Valid();
  request.problem = AsPosed(ResolveProblem(request.graph, request.problem));
  EXPECT_THAT(InProblem(request), IsEmpty());
  Declare(request);
  request.problem = AsPosed(ResolveProblem(request.graph, {}));
  EXPECT_THAT(InProblem(request), IsEmpty());
}

}  // namespace
}  // namespace planwright
