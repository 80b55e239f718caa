// Every enum of the wire and its value in core, as data (enums.cc).
//
// ToCore: nullopt for numbers that the contract does not know, and for an UNSPECIFIED that core expresses as an unset
// optional (Workload, MemoryModel::Kind). ToWire: the value with a name of its own rather than UNSPECIFIED.
#ifndef PLANWRIGHT_SERVER_CODEC_ENUMS_H_
#define PLANWRIGHT_SERVER_CODEC_ENUMS_H_

#include <optional>

#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"
#include "core/simulate/timeline.h"
#include "planwright/v1/cluster.pb.h"
#include "planwright/v1/graph.pb.h"
#include "planwright/v1/plan.pb.h"
#include "planwright/v1/planning_service.pb.h"
#include "planwright/v1/problem.pb.h"

namespace planwright::server {

std::optional<Pass> ToCore(v1::Pass wire);
v1::Pass ToWire(Pass core);

std::optional<DeviceKind> ToCore(v1::DeviceKind wire);
v1::DeviceKind ToWire(DeviceKind core);

std::optional<GridInterconnect::NonAdjacent> ToCore(v1::Interconnect::NonAdjacent wire);
v1::Interconnect::NonAdjacent ToWire(GridInterconnect::NonAdjacent core);

std::optional<LinksInterconnect::Routing> ToCore(v1::Interconnect::Routing wire);
v1::Interconnect::Routing ToWire(LinksInterconnect::Routing core);

std::optional<Objective> ToCore(v1::Objective wire);
v1::Objective ToWire(Objective core);

std::optional<Workload> ToCore(v1::Workload wire);
v1::Workload ToWire(Workload core);

std::optional<Split> ToCore(v1::Split wire);
v1::Split ToWire(Split core);

std::optional<Replication> ToCore(v1::Replication wire);
v1::Replication ToWire(Replication core);

std::optional<Overlap> ToCore(v1::Overlap wire);
v1::Overlap ToWire(Overlap core);

std::optional<ScheduleKind> ToCore(v1::ScheduleKind wire);
v1::ScheduleKind ToWire(ScheduleKind core);

std::optional<AllReduce::Factor> ToCore(v1::AllReduce::Factor wire);
v1::AllReduce::Factor ToWire(AllReduce::Factor core);

std::optional<AllReduce::Ring> ToCore(v1::AllReduce::Ring wire);
v1::AllReduce::Ring ToWire(AllReduce::Ring core);
std::optional<AllReduce::Charge> ToCore(v1::AllReduce::Charge wire);
v1::AllReduce::Charge ToWire(AllReduce::Charge core);

std::optional<MemoryModel::Kind> ToCore(v1::MemoryModel::Kind wire);
v1::MemoryModel::Kind ToWire(MemoryModel::Kind core);

std::optional<MemoryModel::Recomputation> ToCore(v1::MemoryModel::Recomputation wire);
v1::MemoryModel::Recomputation ToWire(MemoryModel::Recomputation core);

std::optional<LayerRecomputation> ToCore(v1::LayerRecomputation wire);
v1::LayerRecomputation ToWire(LayerRecomputation core);

std::optional<Sharding> ToCore(v1::OptimizerSharding wire);
v1::OptimizerSharding ToWire(Sharding core);

std::optional<PipelineOrder> ToPipelineOrder(v1::ScheduleKind wire);
v1::ScheduleKind ToWire(PipelineOrder core);

std::optional<Granularity> ToCore(v1::Granularity wire);
v1::Granularity ToWire(Granularity core);

std::optional<Algorithm> ToCore(v1::Algorithm wire);
v1::Algorithm ToWire(Algorithm core);

std::optional<Contention> ToCore(v1::SimulatePlanRequest::Contention wire);
v1::SimulatePlanRequest::Contention ToWire(Contention core);

std::optional<Collectives> ToCore(v1::SimulatePlanRequest::Collectives wire);
v1::SimulatePlanRequest::Collectives ToWire(Collectives core);

std::optional<StopReason> ToCore(v1::StopReason wire);
v1::StopReason ToWire(StopReason core);

std::optional<BoundScope> ToCore(v1::Bound::Scope wire);
v1::Bound::Scope ToWire(BoundScope core);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CODEC_ENUMS_H_
