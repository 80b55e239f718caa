// The baselines that do not divide the graph: single_device and data_parallel.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/ids.h"
#include "core/partition/baselines/proposals.h"

namespace planwright {
namespace {

// The operators that the workload keeps, of one pass.
std::vector<OperatorId> OperatorsOf(const SearchRequest& request, Pass pass) {
  std::vector<OperatorId> operators;
  if (pass == Pass::kBackward && request.problem.workload == Workload::kInference) return operators;
  for (std::size_t i = 0; i < request.graph.operators.size(); ++i) {
    if (request.graph.operators[i].pass == pass) operators.emplace_back(i);
  }
  return operators;
}

// Ascending.
std::vector<OperatorId> KeptOperators(const SearchRequest& request) {
  std::vector<OperatorId> operators = OperatorsOf(request, Pass::kForward);
  const std::vector<OperatorId> backward = OperatorsOf(request, Pass::kBackward);
  operators.insert(operators.end(), backward.begin(), backward.end());
  std::ranges::sort(operators);
  return operators;
}

// Refuses, and returns false, where devices of the class cannot run one of the operators.
bool CanRun(const SearchRequest& request, const std::vector<OperatorId>& operators, DeviceClassId device_class,
            Proposals& proposals) {
  const auto unsupported =
      std::ranges::find_if(operators, [&](OperatorId op) { return !request.costs.time(op, device_class).supported; });
  if (unsupported == operators.end()) return true;
  proposals.Refuse(absl::StrCat("devices of class \"", request.cluster.device_classes[device_class.index()].name,
                                "\" cannot run operator \"", request.graph.operators[unsupported->index()].name, "\""));
  return false;
}

Placement EverythingOn(const SearchRequest& request, DeviceId device) {
  Placement placement;
  const auto add_stage = [&](std::vector<OperatorId> operators) {
    if (!operators.empty()) placement.stages.push_back({std::move(operators), {device}});
  };
  // A subgraph is of one pass; the CPUs are one pool.
  const bool by_pass = request.problem.objective == Objective::kMinLatency &&
                       request.cluster.class_of(device).kind == DeviceKind::kAccelerator;
  if (by_pass) {
    add_stage(OperatorsOf(request, Pass::kForward));
    add_stage(OperatorsOf(request, Pass::kBackward));
  } else {
    add_stage(KeptOperators(request));
  }
  return placement;
}

}  // namespace

void ProposeSingleDevice(const SearchRequest& request, const SolveLimits& /*limits*/, TaskArena& /*arena*/,
                         Proposals& proposals) {
  const std::vector<OperatorId> operators = AllIds<OperatorId>(request.graph.operators.size());
  std::set<std::pair<DeviceClassId, std::optional<int64_t>>> seen;
  for (std::size_t i = 0; i < request.cluster.devices.size(); ++i) {
    const DeviceId device(i);
    const DeviceClassId device_class = request.cluster.devices[i].device_class;
    if (!seen.emplace(device_class, UsableMemoryBytes(request.cluster, device)).second) continue;
    if (CanRun(request, operators, device_class, proposals)) proposals.Propose(EverythingOn(request, device));
  }
}

void ProposeDataParallel(const SearchRequest& request, const SolveLimits& /*limits*/, TaskArena& /*arena*/,
                         Proposals& proposals) {
  const std::vector<OperatorId> operators = KeptOperators(request);
  if (operators.empty()) return;
  std::vector<std::vector<DeviceId>> devices_of(request.cluster.device_classes.size());
  for (std::size_t i = 0; i < request.cluster.devices.size(); ++i) {
    devices_of[request.cluster.devices[i].device_class.index()].emplace_back(i);
  }
  for (std::size_t i = 0; i < devices_of.size(); ++i) {
    if (devices_of[i].empty() || !CanRun(request, operators, DeviceClassId(i), proposals)) continue;
    proposals.Propose({{{operators, devices_of[i]}}});
  }
}

}  // namespace planwright
