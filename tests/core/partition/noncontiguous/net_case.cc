#include "tests/core/partition/noncontiguous/net_case.h"

#include <array>
#include <string>
#include <variant>

#include "core/base/index.h"
#include "core/partition/noncontiguous/team_assignments.h"

namespace planwright {
namespace {

void Replicate(Instance& instance) {
  instance.problem.replication = Replication::kPerStage;
  const auto give_bandwidth = [](auto& link) {
    if (!link.bandwidth_bytes_per_second.has_value()) link.bandwidth_bytes_per_second = 1e13;
  };
  if (auto* staged = std::get_if<HostStagedInterconnect>(&instance.cluster.interconnect)) give_bandwidth(*staged);
  if (auto* uniform = std::get_if<UniformInterconnect>(&instance.cluster.interconnect)) give_bandwidth(*uniform);
}

Instance MakeProblem(uint64_t seed, int max_operators) {
  Instance instance = MakeRandomInstance(seed, max_operators);
  RandomStream random(seed, 1);
  PlanningProblem& problem = instance.problem;
  problem.split = Split::kNonContiguous;
  problem.overlap = std::array{Overlap::kSerial, Overlap::kOverlapped, Overlap::kFullDuplex}[random.Below(3)];
  if (random.Below(3) == 0) {
    problem.granularity = Granularity::kLayer;
    for (Operator& op : instance.graph.operators) {
      if (random.Below(2) == 0) op.layer = "layer" + std::to_string(random.Below(4));
    }
  }
  const auto random_rule = [&] {
    return OperatorDevice{OperatorId(random.Below(instance.graph.operators.size())),
                          DeviceId(random.Below(instance.cluster.devices.size()))};
  };
  if (random.Below(4) == 0) problem.pinned.push_back(random_rule());
  if (random.Below(4) == 0) problem.forbidden.push_back(random_rule());
  if (random.Below(3) == 0) problem.schedule = ScheduleKind::kGpipe;
  if (random.Below(3) == 0 && problem.pinned.empty() && problem.forbidden.empty()) Replicate(instance);
  return instance;
}

}  // namespace

NetCase::NetCase(uint64_t seed, int max_operators)
    : instance(MakeProblem(seed, max_operators)),
      problem(ResolveProblem(instance.graph, instance.problem)),
      costs(instance.graph, instance.cluster, problem.workload),
      net(BuildNetInstance({instance.graph, instance.cluster, problem, costs})),
      tables(net) {}

std::optional<NetAssignment> NetCase::RandomAssignment(RandomStream& random) const {
  NetAssignment assignment;
  if (tables.replicates()) assignment.replicas = RandomTeams(tables, random);
  for (int32_t group = 0; group < net.num_groups(); ++group) {
    std::vector<int32_t> choices;
    for (int32_t device = 0; device < tables.num_devices(); ++device) {
      const bool leads = assignment.replicas.empty() || assignment.replicas[Index(device)] > 0;
      if (leads && tables.may_run(group, device)) choices.push_back(device);
    }
    if (choices.empty()) return std::nullopt;
    assignment.device_of.push_back(choices[random.Below(choices.size())]);
  }
  return assignment;
}

Placement NetCase::PlacementOf(const NetAssignment& assignment) const {
  return PlacementOfTeams(net, VirtualDevices(instance.graph, problem), assignment);
}

}  // namespace planwright
