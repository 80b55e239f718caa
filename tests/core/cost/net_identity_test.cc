// Loads of random placements by the net identity: a device pays for a tensor exactly when it holds its operators
// partly, whatever the stages are.
#include <gtest/gtest.h>

#include <set>

#include "core/base/random.h"
#include "core/cost/plan_costing.h"
#include "core/cost/terms/transfer.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

// Every operator a stage of its own, in the order of the graph, on a random device.
Placement Scatter(const Instance& instance, RandomStream& random) {
  Placement placement;
  for (std::size_t i = 0; i < instance.graph.operators.size(); ++i) {
    placement.stages.push_back(
        {{OperatorId(i)}, {DeviceId(static_cast<std::size_t>(random.Below(instance.cluster.devices.size())))}});
  }
  return placement;
}

// Loads by device from first principles.
std::vector<Picoseconds> LoadsByNets(const Instance& instance, const ResolvedProblem& problem, const CostTable& costs,
                                     const Placement& placement) {
  const auto is_kept = [&](OperatorId op) {
    return problem.workload == Workload::kTraining || instance.graph.operators[op.index()].pass == Pass::kForward;
  };
  const auto device_of = [&](OperatorId op) { return placement.stages[op.index()].devices.front(); };
  const TransferRules rules = RulesOf(instance.cluster.interconnect);
  const int64_t ways = GradientsFollowTensors(instance.graph, problem.workload) ? 2 : 1;
  std::vector<Picoseconds> loads(instance.cluster.devices.size());
  for (std::size_t i = 0; i < instance.graph.operators.size(); ++i) {
    const DeviceId device = device_of(OperatorId(i));
    const DeviceClassId device_class = instance.cluster.devices[device.index()].device_class;
    loads[device.index()] += costs.time(OperatorId(i), device_class).total();
  }
  for (const Tensor& tensor : instance.graph.tensors) {
    if (!is_kept(tensor.producer)) continue;
    std::set<DeviceId> others;
    for (const OperatorId consumer : tensor.consumers) {
      if (is_kept(consumer)) others.insert(device_of(consumer));
    }
    others.erase(device_of(tensor.producer));
    const Picoseconds time = ways * TensorTransferTime(tensor, instance.cluster.interconnect);
    const auto pay = [&](DeviceId device, int64_t times) {
      if (rules.cpus_pay || instance.cluster.class_of(device).kind == DeviceKind::kAccelerator) {
        loads[device.index()] += times * time;
      }
    };
    const auto readers = static_cast<int64_t>(others.size());
    pay(device_of(tensor.producer), rules.pay_once ? std::min<int64_t>(readers, 1) : readers);
    for (const DeviceId other : others) pay(other, 1);
  }
  return loads;
}

TEST(NetIdentityTest, HoldsForRandomPlacements) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Instance instance = MakeRandomInstance(seed);
    instance.problem.split = Split::kNonContiguous;
    const ResolvedProblem problem = ResolveProblem(instance.graph, instance.problem);
    const CostTable costs(instance.graph, instance.cluster, problem.workload);
    RandomStream random(seed);
    const Placement placement = Scatter(instance, random);
    const Plan plan = CostPlan({instance.graph, instance.cluster, problem, costs}, placement);
    const std::vector<Picoseconds> loads = LoadsByNets(instance, problem, costs, placement);
    Picoseconds greatest{0};
    for (std::size_t i = 0; i < loads.size(); ++i) {
      EXPECT_EQ(plan.devices[i].load, loads[i]) << "seed " << seed << ", device " << i << Describe(instance);
      greatest = std::max(greatest, loads[i]);
    }
    EXPECT_EQ(plan.objective, greatest) << "seed " << seed;
  }
}

}  // namespace
}  // namespace planwright
