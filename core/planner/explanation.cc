#include "core/planner/explanation.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/interruption.h"
#include "core/cost/plan_costing.h"
#include "core/verify/verify.h"

namespace planwright {
namespace {

constexpr double kMoreMemory = 2;
constexpr double kMoreBandwidth = 2;

bool SharesStage(const DeviceUsage& a, const DeviceUsage& b) {
  return std::find_first_of(a.stages.begin(), a.stages.end(), b.stages.begin(), b.stages.end()) != a.stages.end();
}

// "device acc2: 16.800 ms of work, 0.990 ms of transfers"; with replicas also ", 6.200 ms of all-reduce, on each of 4
// replicas".
std::string BottleneckText(const Cluster& cluster, const Plan& plan, const DeviceUsage& usage) {
  Picoseconds compute{0};
  Picoseconds transfers{0};
  Picoseconds allreduce{0};
  std::size_t replicas = 1;
  for (const StageId id : usage.stages) {
    const Stage& stage = plan.stages[id.index()];
    compute += stage.compute;
    transfers += stage.communication_in + stage.communication_out;
    allreduce += stage.allreduce;
    replicas = std::max(replicas, stage.replicas.size());
  }
  std::string text =
      absl::StrFormat("device %s: %.3f ms of work, %.3f ms of transfers", cluster.devices[usage.device.index()].name,
                      ToMilliseconds(compute), ToMilliseconds(transfers));
  if (replicas == 1) return text;
  return absl::StrFormat("%s, %.3f ms of all-reduce, on each of %d replicas", text, ToMilliseconds(allreduce),
                         replicas);
}

// REQUIRES: there are devices.
const DeviceUsage& BusiestOf(const Plan& plan) {
  const auto by_load = [](const DeviceUsage& a, const DeviceUsage& b) { return a.load < b.load; };
  return *std::max_element(plan.devices.begin(), plan.devices.end(), by_load);
}

struct Hardware {
  OperatorGraph graph;
  Cluster cluster;
  DeviceSelection devices_to_use;
};

// nullopt: the interconnect lists its devices, so none can be added without saying where.
std::optional<Hardware> WithOneMoreDevice(Hardware hardware, DeviceId like) {
  const Interconnect& interconnect = hardware.cluster.interconnect;
  if (!std::holds_alternative<HostStagedInterconnect>(interconnect) &&
      !std::holds_alternative<UniformInterconnect>(interconnect)) {
    return std::nullopt;
  }
  hardware.cluster.devices.push_back(hardware.cluster.devices[like.index()]);
  hardware.cluster.devices.back().name += " (one more)";
  DeviceSelection& selection = hardware.devices_to_use;
  if (!selection.devices.empty()) selection.devices.emplace_back(hardware.cluster.devices.size() - 1);
  if (selection.max_devices.has_value()) ++*selection.max_devices;
  return hardware;
}

// nullopt: memory is not limited.
std::optional<Hardware> WithMoreMemory(Hardware hardware, DeviceId like) {
  const DeviceClassId device_class = hardware.cluster.devices[like.index()].device_class;
  std::optional<int64_t>& memory = hardware.cluster.device_classes[device_class.index()].memory_bytes;
  if (!memory.has_value()) return std::nullopt;
  memory = static_cast<int64_t>(std::min(static_cast<double>(*memory) * kMoreMemory, 9e18));
  return hardware;
}

void Widen(std::optional<double>& bandwidth) {
  if (bandwidth.has_value()) *bandwidth *= kMoreBandwidth;
}
void Widen(double& bandwidth) { bandwidth *= kMoreBandwidth; }

struct BandwidthWidener {
  void operator()(HostStagedInterconnect& interconnect) const { Widen(interconnect.bandwidth_bytes_per_second); }
  void operator()(UniformInterconnect& interconnect) const { Widen(interconnect.bandwidth_bytes_per_second); }
  void operator()(HierarchyInterconnect& interconnect) const {
    for (auto& level : interconnect.levels) Widen(level.bandwidth_bytes_per_second);
  }
  void operator()(GridInterconnect& interconnect) const { Widen(interconnect.link_bandwidth_bytes_per_second); }
  void operator()(LinksInterconnect& interconnect) const {
    for (auto& link : interconnect.links) Widen(link.bandwidth_bytes_per_second);
  }
  void operator()(MatrixInterconnect& interconnect) const {
    for (double& bandwidth : interconnect.bandwidth_bytes_per_second) Widen(bandwidth);
  }
  void operator()(NodesInterconnect& interconnect) const {
    for (auto& link : interconnect.links) Widen(link.bandwidth_bytes_per_second);
    Widen(interconnect.bandwidth_bytes_per_second);
    for (auto& level : interconnect.levels) Widen(level.bandwidth_bytes_per_second);
  }
};

std::optional<Hardware> WithMoreBandwidth(Hardware hardware, DeviceId /*like*/) {
  std::visit(BandwidthWidener(), hardware.cluster.interconnect);
  for (Tensor& tensor : hardware.graph.tensors) {
    if (!tensor.transfer.has_value()) continue;
    tensor.transfer = Picoseconds(std::llround(static_cast<double>(tensor.transfer->count()) / kMoreBandwidth));
  }
  return hardware;
}

// The objective that is reached on `hardware`, starting from `plan`; nullopt: the search was cut off.
std::optional<Picoseconds> Replan(const Hardware& hardware, const SearchRequest& search, SolveFunction solve,
                                  const Plan& plan, const SolveLimits& limits, TaskArena& arena) {
  const CostTable costs(hardware.graph, hardware.cluster, search.problem.workload);
  ResolvedProblem problem = search.problem;
  problem.devices_to_use = hardware.devices_to_use;
  SolverOptions options = search.options;
  options.work_limit = std::min(kReliefWork, options.work_limit.value_or(kReliefWork));
  const SearchRequest request{hardware.graph,
                              hardware.cluster,
                              problem,
                              costs,
                              options,
                              search.algorithm,
                              {{PlacementOf(plan), plan.provenance.algorithm}}};
  SearchCallbacks callbacks;
  callbacks.objective = [&](const Placement& placement) {
    return CostPlan({hardware.graph, hardware.cluster, problem, costs}, placement).objective;
  };
  callbacks.objection = [&](const Placement& placement) {
    const Verdict verdict = VerifyPlacement({hardware.graph, hardware.cluster, problem}, placement);
    return verdict.violations.empty() ? std::string() : verdict.violations.listed().front().rule;
  };
  const absl::StatusOr<SearchOutcome> outcome = solve(request, limits, arena, callbacks.Silenced());
  if (!outcome.ok() || CheckInterruption(limits).has_value()) return std::nullopt;
  return outcome->objective;
}

}  // namespace

std::string BottleneckOf(const Cluster& cluster, const Plan& plan) {
  return plan.devices.empty() ? "" : BottleneckText(cluster, plan, BusiestOf(plan));
}

Explanation ExplainPlan(const SearchRequest& search, SolveFunction solve, const Plan& plan, const SolveLimits& limits,
                        TaskArena& arena) {
  Explanation explanation;
  if (plan.stages.empty()) return explanation;
  const DeviceUsage& busiest = BusiestOf(plan);
  explanation.bottleneck = BottleneckText(search.cluster, plan, busiest);
  Picoseconds next{0};
  for (const DeviceUsage& usage : plan.devices) {
    if (!SharesStage(usage, busiest)) next = std::max(next, usage.load);
  }
  explanation.slack = busiest.load - next;

  // Fewer devices are not a better objective of the plan.
  if (search.problem.objective == Objective::kMinDevices) return explanation;
  const std::string& class_name = search.cluster.class_of(busiest.device).name;
  const auto add = [&](std::string resource, std::string amount, auto relieve) {
    if (CheckInterruption(limits).has_value()) return;
    const InterruptionScope scope(&limits);
    try {
      const std::optional<Hardware> hardware =
          relieve(Hardware{search.graph, search.cluster, search.problem.devices_to_use}, busiest.device);
      if (!hardware.has_value()) return;
      const std::optional<Picoseconds> objective = Replan(*hardware, search, solve, plan, limits, arena);
      if (objective.has_value()) explanation.relief.push_back({std::move(resource), std::move(amount), *objective});
    } catch (const Interrupted&) {
      // As where the search is cut off: nothing is said of this resource.
    }
  };
  add("device", absl::StrCat("one more device of class ", class_name), WithOneMoreDevice);
  add("memory", absl::StrCat("twice the memory of class ", class_name), WithMoreMemory);
  add("bandwidth", "twice the bandwidth", WithMoreBandwidth);
  return explanation;
}

}  // namespace planwright
