#include "core/partition/baselines/single_device.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace planwright {
namespace {

// The operators that the workload keeps, of one pass.
std::vector<OperatorId> OperatorsOf(const OperatorGraph& graph, Pass pass) {
  std::vector<OperatorId> operators;
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    if (graph.operators[i].pass == pass) operators.emplace_back(i);
  }
  return operators;
}

Placement EverythingOn(const SearchRequest& request, DeviceId device) {
  Placement placement;
  const auto add_stage = [&](std::vector<OperatorId> operators) {
    if (!operators.empty()) placement.stages.push_back({std::move(operators), {device}});
  };
  std::vector<OperatorId> forward = OperatorsOf(request.graph, Pass::kForward);
  std::vector<OperatorId> backward;
  if (request.problem.workload == Workload::kTraining) backward = OperatorsOf(request.graph, Pass::kBackward);
  // A subgraph is of one pass; the CPUs are one pool.
  const bool by_pass = request.problem.objective == Objective::kMinLatency &&
                       request.cluster.class_of(device).kind == DeviceKind::kAccelerator;
  if (by_pass) {
    add_stage(std::move(forward));
    add_stage(std::move(backward));
    return placement;
  }
  forward.insert(forward.end(), backward.begin(), backward.end());
  std::sort(forward.begin(), forward.end());
  add_stage(std::move(forward));
  return placement;
}

// The first operator that no device of the class can run; empty: there is none.
std::string Obstacle(const SearchRequest& request, DeviceClassId device_class) {
  for (std::size_t i = 0; i < request.graph.operators.size(); ++i) {
    if (!request.costs.time(OperatorId(i), device_class).supported) return request.graph.operators[i].name;
  }
  return "";
}

}  // namespace

void ProposeSingleDevice(const SearchRequest& request, Proposals& proposals) {
  std::set<std::pair<DeviceClassId, std::optional<int64_t>>> seen;
  for (std::size_t i = 0; i < request.cluster.devices.size(); ++i) {
    const DeviceId device(i);
    const DeviceClassId device_class = request.cluster.devices[i].device_class;
    if (!seen.emplace(device_class, UsableMemoryBytes(request.cluster, device)).second) continue;
    const std::string obstacle = Obstacle(request, device_class);
    if (obstacle.empty()) {
      proposals.Propose(EverythingOn(request, device));
    } else {
      proposals.Refuse(absl::StrCat("devices of class \"", request.cluster.device_classes[device_class.index()].name,
                                    "\" cannot run operator \"", obstacle, "\""));
    }
  }
}

}  // namespace planwright
