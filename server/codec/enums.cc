#include "server/codec/enums.h"

#include <array>
#include <cstddef>

namespace planwright::server {
namespace {

template <typename Wire, typename Core>
struct EnumPair {
  Wire wire;
  Core core;
};

// Rows of one enum. A core value that two wire values mean is encoded as the later one.
template <typename Wire, typename Core, std::size_t kRows>
using EnumTable = std::array<EnumPair<Wire, Core>, kRows>;

template <typename Wire, typename Core, std::size_t kRows>
std::optional<Core> FindCore(const EnumTable<Wire, Core, kRows>& table, Wire wire) {
  for (const EnumPair<Wire, Core>& row : table) {
    if (row.wire == wire) return row.core;
  }
  return std::nullopt;
}

// UNSPECIFIED (0) if no row has `core`, which a complete table rules out.
template <typename Wire, typename Core, std::size_t kRows>
Wire FindWire(const EnumTable<Wire, Core, kRows>& table, Core core) {
  Wire found{};
  for (const EnumPair<Wire, Core>& row : table) {
    if (row.core == core) found = row.wire;
  }
  return found;
}

constexpr EnumTable<v1::Pass, Pass, 3> kPassTable = {{
    {v1::PASS_UNSPECIFIED, Pass::kForward},
    {v1::PASS_FORWARD, Pass::kForward},
    {v1::PASS_BACKWARD, Pass::kBackward},
}};

constexpr EnumTable<v1::DeviceKind, DeviceKind, 3> kDeviceKindTable = {{
    {v1::DEVICE_KIND_UNSPECIFIED, DeviceKind::kAccelerator},
    {v1::DEVICE_KIND_ACCELERATOR, DeviceKind::kAccelerator},
    {v1::DEVICE_KIND_CPU, DeviceKind::kCpu},
}};

constexpr EnumTable<v1::Interconnect::NonAdjacent, GridInterconnect::NonAdjacent, 3> kNonAdjacentTable = {{
    {v1::Interconnect::NON_ADJACENT_UNSPECIFIED, GridInterconnect::NonAdjacent::kLinkBandwidth},
    {v1::Interconnect::NON_ADJACENT_LINK_BANDWIDTH, GridInterconnect::NonAdjacent::kLinkBandwidth},
    {v1::Interconnect::NON_ADJACENT_DIVIDED_BY_HOPS, GridInterconnect::NonAdjacent::kDividedByHops},
}};

constexpr EnumTable<v1::Interconnect::Routing, LinksInterconnect::Routing, 3> kRoutingTable = {{
    {v1::Interconnect::ROUTING_UNSPECIFIED, LinksInterconnect::Routing::kWidestPath},
    {v1::Interconnect::ROUTING_WIDEST_PATH, LinksInterconnect::Routing::kWidestPath},
    {v1::Interconnect::ROUTING_SHORTEST_PATH, LinksInterconnect::Routing::kShortestPath},
}};

constexpr EnumTable<v1::Objective, Objective, 4> kObjectiveTable = {{
    {v1::OBJECTIVE_UNSPECIFIED, Objective::kMaxThroughput},
    {v1::OBJECTIVE_MAX_THROUGHPUT, Objective::kMaxThroughput},
    {v1::OBJECTIVE_MIN_LATENCY, Objective::kMinLatency},
    {v1::OBJECTIVE_MIN_DEVICES, Objective::kMinDevices},
}};

constexpr EnumTable<v1::Workload, Workload, 2> kWorkloadTable = {{
    {v1::WORKLOAD_INFERENCE, Workload::kInference},
    {v1::WORKLOAD_TRAINING, Workload::kTraining},
}};

constexpr EnumTable<v1::Split, Split, 3> kSplitTable = {{
    {v1::SPLIT_UNSPECIFIED, Split::kContiguous},
    {v1::SPLIT_CONTIGUOUS, Split::kContiguous},
    {v1::SPLIT_NON_CONTIGUOUS, Split::kNonContiguous},
}};

constexpr EnumTable<v1::Replication, Replication, 4> kReplicationTable = {{
    {v1::REPLICATION_UNSPECIFIED, Replication::kNone},
    {v1::REPLICATION_NONE, Replication::kNone},
    {v1::REPLICATION_UNIFORM, Replication::kUniform},
    {v1::REPLICATION_PER_STAGE, Replication::kPerStage},
}};

constexpr EnumTable<v1::Overlap, Overlap, 4> kOverlapTable = {{
    {v1::OVERLAP_UNSPECIFIED, Overlap::kSerial},
    {v1::OVERLAP_SERIAL, Overlap::kSerial},
    {v1::OVERLAP_OVERLAPPED, Overlap::kOverlapped},
    {v1::OVERLAP_FULL_DUPLEX, Overlap::kFullDuplex},
}};

constexpr EnumTable<v1::ScheduleKind, ScheduleKind, 8> kScheduleTable = {{
    {v1::SCHEDULE_KIND_UNSPECIFIED, ScheduleKind::kSteadyState},
    {v1::SCHEDULE_KIND_GPIPE, ScheduleKind::kGpipe},
    {v1::SCHEDULE_KIND_ONE_F_ONE_B, ScheduleKind::kOneFOneB},
    {v1::SCHEDULE_KIND_PIPEDREAM_ASYNC, ScheduleKind::kPipedreamAsync},
    {v1::SCHEDULE_KIND_PERIODIC, ScheduleKind::kPeriodic},
    {v1::SCHEDULE_KIND_INTERLEAVED, ScheduleKind::kInterleaved},
    {v1::SCHEDULE_KIND_CHIMERA, ScheduleKind::kChimera},
    {v1::SCHEDULE_KIND_ZERO_BUBBLE_H1, ScheduleKind::kZeroBubbleH1},
}};

constexpr EnumTable<v1::AllReduce::Factor, AllReduce::Factor, 3> kFactorTable = {{
    {v1::AllReduce::FACTOR_UNSPECIFIED, AllReduce::Factor::kRing},
    {v1::AllReduce::FACTOR_RING, AllReduce::Factor::kRing},
    {v1::AllReduce::FACTOR_HALF, AllReduce::Factor::kHalf},
}};

constexpr EnumTable<v1::AllReduce::Ring, AllReduce::Ring, 3> kRingTable = {{
    {v1::AllReduce::RING_UNSPECIFIED, AllReduce::Ring::kFree},
    {v1::AllReduce::RING_FREE, AllReduce::Ring::kFree},
    {v1::AllReduce::RING_INDEX, AllReduce::Ring::kIndex},
}};

constexpr EnumTable<v1::MemoryModel::Kind, MemoryModel::Kind, 2> kMemoryKindTable = {{
    {v1::MemoryModel::KIND_DECLARED, MemoryModel::Kind::kDeclared},
    {v1::MemoryModel::KIND_COMPONENTS, MemoryModel::Kind::kComponents},
}};

constexpr EnumTable<v1::MemoryModel::Recomputation, MemoryModel::Recomputation, 3> kRecomputationTable = {{
    {v1::MemoryModel::RECOMPUTATION_UNSPECIFIED, MemoryModel::Recomputation::kNone},
    {v1::MemoryModel::RECOMPUTATION_NONE, MemoryModel::Recomputation::kNone},
    {v1::MemoryModel::RECOMPUTATION_FULL, MemoryModel::Recomputation::kFull},
}};

constexpr EnumTable<v1::LayerRecomputation, LayerRecomputation, 3> kLayerRecomputationTable = {{
    {v1::LAYER_RECOMPUTATION_NONE, LayerRecomputation::kNone},
    {v1::LAYER_RECOMPUTATION_SELECTIVE, LayerRecomputation::kSelective},
    {v1::LAYER_RECOMPUTATION_FULL, LayerRecomputation::kFull},
}};

constexpr EnumTable<v1::OptimizerSharding, Sharding, 4> kShardingTable = {{
    {v1::OPTIMIZER_SHARDING_NONE, Sharding::kNone},
    {v1::OPTIMIZER_SHARDING_OPTIMIZER, Sharding::kOptimizer},
    {v1::OPTIMIZER_SHARDING_GRADIENTS, Sharding::kGradients},
    {v1::OPTIMIZER_SHARDING_PARAMETERS, Sharding::kParameters},
}};

// Has only the schedules that the joint search knows.
constexpr EnumTable<v1::ScheduleKind, PipelineOrder, 4> kPipelineOrderTable = {{
    {v1::SCHEDULE_KIND_ONE_F_ONE_B, PipelineOrder::kOneFOneB},
    {v1::SCHEDULE_KIND_INTERLEAVED, PipelineOrder::kInterleaved},
    {v1::SCHEDULE_KIND_GPIPE, PipelineOrder::kGpipe},
    {v1::SCHEDULE_KIND_ZERO_BUBBLE_H1, PipelineOrder::kZeroBubble},
}};

constexpr EnumTable<v1::Granularity, Granularity, 3> kGranularityTable = {{
    {v1::GRANULARITY_UNSPECIFIED, Granularity::kOperator},
    {v1::GRANULARITY_OPERATOR, Granularity::kOperator},
    {v1::GRANULARITY_LAYER, Granularity::kLayer},
}};

constexpr EnumTable<v1::AllReduce::Charge, AllReduce::Charge, 3> kChargeTable = {{
    {v1::AllReduce::CHARGE_UNSPECIFIED, AllReduce::Charge::kPerRound},
    {v1::AllReduce::CHARGE_PER_ROUND, AllReduce::Charge::kPerRound},
    {v1::AllReduce::CHARGE_PER_MICRO_BATCH, AllReduce::Charge::kPerMicroBatch},
}};

constexpr EnumTable<v1::StopReason, StopReason, 8> kStopReasonTable = {{
    {v1::STOP_REASON_OPTIMAL, StopReason::kOptimal},
    {v1::STOP_REASON_GAP_REACHED, StopReason::kGapReached},
    {v1::STOP_REASON_WORK_LIMIT, StopReason::kWorkLimit},
    {v1::STOP_REASON_TIME_LIMIT, StopReason::kTimeLimit},
    {v1::STOP_REASON_CANCELLED, StopReason::kCancelled},
    {v1::STOP_REASON_IDEAL_LIMIT, StopReason::kIdealLimit},
    {v1::STOP_REASON_MEMORY_LIMIT, StopReason::kMemoryLimit},
    {v1::STOP_REASON_EXHAUSTED, StopReason::kExhausted},
}};

constexpr EnumTable<v1::Bound::Scope, BoundScope, 7> kScopeTable = {{
    {v1::Bound::SCOPE_PROBLEM, BoundScope::kProblem},
    {v1::Bound::SCOPE_GIVEN_PARTITION, BoundScope::kGivenPartition},
    {v1::Bound::SCOPE_GIVEN_STAGES_AND_REPLICAS, BoundScope::kGivenStagesAndReplicas},
    {v1::Bound::SCOPE_GIVEN_ALLOCATION, BoundScope::kGivenAllocation},
    {v1::Bound::SCOPE_FEWER_DEVICES, BoundScope::kFewerDevices},
    {v1::Bound::SCOPE_GIVEN_ORDER, BoundScope::kGivenOrder},
    {v1::Bound::SCOPE_ALIGNED_PLACES, BoundScope::kAlignedPlaces},
}};

constexpr EnumTable<v1::SimulatePlanRequest::Contention, Contention, 3> kContentionTable = {{
    {v1::SimulatePlanRequest::CONTENTION_UNSPECIFIED, Contention::kExclusive},
    {v1::SimulatePlanRequest::CONTENTION_EXCLUSIVE, Contention::kExclusive},
    {v1::SimulatePlanRequest::CONTENTION_FAIR_SHARE, Contention::kFairShare},
}};

constexpr EnumTable<v1::SimulatePlanRequest::Collectives, Collectives, 3> kCollectivesTable = {{
    {v1::SimulatePlanRequest::COLLECTIVES_UNSPECIFIED, Collectives::kInPasses},
    {v1::SimulatePlanRequest::COLLECTIVES_IN_PASSES, Collectives::kInPasses},
    {v1::SimulatePlanRequest::COLLECTIVES_ON_LINKS, Collectives::kOnLinks},
}};

}  // namespace

std::optional<Pass> ToCore(v1::Pass wire) { return FindCore(kPassTable, wire); }
v1::Pass ToWire(Pass core) { return FindWire(kPassTable, core); }

std::optional<DeviceKind> ToCore(v1::DeviceKind wire) { return FindCore(kDeviceKindTable, wire); }
v1::DeviceKind ToWire(DeviceKind core) { return FindWire(kDeviceKindTable, core); }

std::optional<GridInterconnect::NonAdjacent> ToCore(v1::Interconnect::NonAdjacent wire) {
  return FindCore(kNonAdjacentTable, wire);
}
v1::Interconnect::NonAdjacent ToWire(GridInterconnect::NonAdjacent core) { return FindWire(kNonAdjacentTable, core); }

std::optional<LinksInterconnect::Routing> ToCore(v1::Interconnect::Routing wire) {
  return FindCore(kRoutingTable, wire);
}
v1::Interconnect::Routing ToWire(LinksInterconnect::Routing core) { return FindWire(kRoutingTable, core); }

std::optional<Objective> ToCore(v1::Objective wire) { return FindCore(kObjectiveTable, wire); }
v1::Objective ToWire(Objective core) { return FindWire(kObjectiveTable, core); }

std::optional<Workload> ToCore(v1::Workload wire) { return FindCore(kWorkloadTable, wire); }
v1::Workload ToWire(Workload core) { return FindWire(kWorkloadTable, core); }

std::optional<Split> ToCore(v1::Split wire) { return FindCore(kSplitTable, wire); }
v1::Split ToWire(Split core) { return FindWire(kSplitTable, core); }

std::optional<Replication> ToCore(v1::Replication wire) { return FindCore(kReplicationTable, wire); }
v1::Replication ToWire(Replication core) { return FindWire(kReplicationTable, core); }

std::optional<Overlap> ToCore(v1::Overlap wire) { return FindCore(kOverlapTable, wire); }
v1::Overlap ToWire(Overlap core) { return FindWire(kOverlapTable, core); }

std::optional<ScheduleKind> ToCore(v1::ScheduleKind wire) { return FindCore(kScheduleTable, wire); }
v1::ScheduleKind ToWire(ScheduleKind core) { return FindWire(kScheduleTable, core); }

std::optional<AllReduce::Factor> ToCore(v1::AllReduce::Factor wire) { return FindCore(kFactorTable, wire); }
v1::AllReduce::Factor ToWire(AllReduce::Factor core) { return FindWire(kFactorTable, core); }

std::optional<AllReduce::Ring> ToCore(v1::AllReduce::Ring wire) { return FindCore(kRingTable, wire); }
v1::AllReduce::Ring ToWire(AllReduce::Ring core) { return FindWire(kRingTable, core); }

std::optional<AllReduce::Charge> ToCore(v1::AllReduce::Charge wire) { return FindCore(kChargeTable, wire); }
v1::AllReduce::Charge ToWire(AllReduce::Charge core) { return FindWire(kChargeTable, core); }

std::optional<MemoryModel::Kind> ToCore(v1::MemoryModel::Kind wire) { return FindCore(kMemoryKindTable, wire); }
v1::MemoryModel::Kind ToWire(MemoryModel::Kind core) { return FindWire(kMemoryKindTable, core); }

std::optional<MemoryModel::Recomputation> ToCore(v1::MemoryModel::Recomputation wire) {
  return FindCore(kRecomputationTable, wire);
}
v1::MemoryModel::Recomputation ToWire(MemoryModel::Recomputation core) { return FindWire(kRecomputationTable, core); }

std::optional<LayerRecomputation> ToCore(v1::LayerRecomputation wire) {
  return FindCore(kLayerRecomputationTable, wire);
}
v1::LayerRecomputation ToWire(LayerRecomputation core) { return FindWire(kLayerRecomputationTable, core); }

std::optional<Sharding> ToCore(v1::OptimizerSharding wire) { return FindCore(kShardingTable, wire); }
v1::OptimizerSharding ToWire(Sharding core) { return FindWire(kShardingTable, core); }

std::optional<PipelineOrder> ToPipelineOrder(v1::ScheduleKind wire) { return FindCore(kPipelineOrderTable, wire); }
v1::ScheduleKind ToWire(PipelineOrder core) { return FindWire(kPipelineOrderTable, core); }

std::optional<Granularity> ToCore(v1::Granularity wire) { return FindCore(kGranularityTable, wire); }
v1::Granularity ToWire(Granularity core) { return FindWire(kGranularityTable, core); }

// Both sides list the same algorithms in the same order; only the wire has a value for an unspecified one, before them.
std::optional<Algorithm> ToCore(v1::Algorithm wire) {
  if (!v1::Algorithm_IsValid(wire)) return std::nullopt;
  return wire == v1::ALGORITHM_UNSPECIFIED ? Algorithm::kAuto : static_cast<Algorithm>(wire - v1::ALGORITHM_AUTO);
}
v1::Algorithm ToWire(Algorithm core) {
  return static_cast<v1::Algorithm>(static_cast<int>(core) + static_cast<int>(v1::ALGORITHM_AUTO));
}

std::optional<Contention> ToCore(v1::SimulatePlanRequest::Contention wire) { return FindCore(kContentionTable, wire); }
v1::SimulatePlanRequest::Contention ToWire(Contention core) { return FindWire(kContentionTable, core); }

std::optional<Collectives> ToCore(v1::SimulatePlanRequest::Collectives wire) {
  return FindCore(kCollectivesTable, wire);
}
v1::SimulatePlanRequest::Collectives ToWire(Collectives core) { return FindWire(kCollectivesTable, core); }

std::optional<StopReason> ToCore(v1::StopReason wire) { return FindCore(kStopReasonTable, wire); }
v1::StopReason ToWire(StopReason core) { return FindWire(kStopReasonTable, core); }

std::optional<BoundScope> ToCore(v1::Bound::Scope wire) { return FindCore(kScopeTable, wire); }
v1::Bound::Scope ToWire(BoundScope core) { return FindWire(kScopeTable, core); }

}  // namespace planwright::server
