#include "tests/core/partition/net_case.h"

#include <array>
#include <string>

namespace planwright {
namespace {

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
  problem = ResolveProblem(instance.graph, problem);
  return instance;
}

}  // namespace

NetCase::NetCase(uint64_t seed, int max_operators)
    : instance(MakeProblem(seed, max_operators)),
      costs(instance.graph, instance.cluster, *instance.problem.workload),
      net(BuildNetInstance(instance.graph, instance.cluster, instance.problem, costs)),
      tables(net) {}

std::optional<std::vector<int32_t>> NetCase::RandomAssignment(RandomStream& random) const {
  std::vector<int32_t> assignment;
  for (int32_t group = 0; group < net.num_groups(); ++group) {
    std::vector<int32_t> choices;
    for (int32_t device = 0; device < tables.num_devices(); ++device) {
      if (tables.may_run(group, device)) choices.push_back(device);
    }
    if (choices.empty()) return std::nullopt;
    assignment.push_back(choices[random.Below(choices.size())]);
  }
  return assignment;
}

std::vector<DeviceId> NetCase::DevicesOf(const std::vector<int32_t>& assignment) const {
  std::vector<DeviceId> device_of(instance.graph.operators.size());
  for (std::size_t group = 0; group < assignment.size(); ++group) {
    for (const OperatorId op : net.blocks.operators[group]) {
      device_of[op.index()] = net.devices[static_cast<std::size_t>(assignment[group])].device;
    }
  }
  return device_of;
}

}  // namespace planwright
