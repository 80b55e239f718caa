#include "core/partition/noncontiguous/virtual_devices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/verify/verify.h"
#include "tests/core/partition/noncontiguous/net_case.h"
#include "tests/support/builders.h"

namespace planwright {
namespace {

// A chain of operators.
OperatorGraph Chain(int length) {
  OperatorGraph graph;
  for (int i = 0; i < length; ++i) {
    const OperatorId op = AddOperator(graph, "op" + std::to_string(i), 1, 1);
    if (i > 0) AddTensor(graph, OperatorId(op.index() - 1), {op}, 1);
  }
  return graph;
}

Placement Cut(const OperatorGraph& graph, const std::vector<std::size_t>& devices) {
  PlanningProblem problem;
  problem.split = Split::kNonContiguous;
  std::vector<DeviceId> device_of;
  for (const std::size_t device : devices) device_of.emplace_back(device);
  return VirtualDevices(graph, ResolveProblem(graph, problem)).Cut(device_of);
}

TEST(VirtualDevicesTest, AChainTakesOneStageForEachChangeOfDevice) {
  const Placement placement = Cut(Chain(6), {0, 0, 1, 1, 0, 2});
  ASSERT_EQ(placement.stages.size(), 4U);
  EXPECT_EQ(placement.stages[0].operators, (std::vector<OperatorId>{OperatorId(0), OperatorId(1)}));
  EXPECT_EQ(placement.stages[2].operators, std::vector<OperatorId>{OperatorId(4)});
  EXPECT_EQ(placement.stages[2].devices, std::vector<DeviceId>{DeviceId(0)});
}

TEST(VirtualDevicesTest, ParallelBranchesOfOneDeviceShareAStage) {
  // Four branches between two ends; two devices take two branches each, one of them the ends too.
  OperatorGraph graph;
  const OperatorId first = AddOperator(graph, "first", 1, 1);
  std::vector<OperatorId> branches;
  for (int i = 0; i < 4; ++i) branches.push_back(AddOperator(graph, "branch" + std::to_string(i), 1, 1));
  const OperatorId last = AddOperator(graph, "last", 1, 1);
  AddTensor(graph, first, branches, 1);
  for (const OperatorId branch : branches) AddTensor(graph, branch, {last}, 1);
  EXPECT_EQ(Cut(graph, {0, 0, 1, 0, 1, 0}).stages.size(), 3U);
  EXPECT_EQ(Cut(graph, {0, 1, 2, 1, 2, 0}).stages.size(), 4U);
}

TEST(VirtualDevicesTest, ABackwardOperatorIsInTheStageOfItsForwardOperator) {
  OperatorGraph graph = Chain(3);
  for (const std::size_t op : {2, 1, 0}) AddBackward(graph, "b" + std::to_string(op), OperatorId(op), 1, 1);
  for (std::size_t op = 3; op < 5; ++op) AddTensor(graph, OperatorId(op), {OperatorId(op + 1)}, 1);
  AddTensor(graph, OperatorId(2), {OperatorId(3)}, 1);
  const Placement placement = Cut(graph, {0, 1, 0, 0, 1, 0});
  ASSERT_EQ(placement.stages.size(), 3U);
  EXPECT_EQ(placement.stages[0].operators, (std::vector<OperatorId>{OperatorId(0), OperatorId(5)}));
  EXPECT_EQ(placement.stages[1].operators, (std::vector<OperatorId>{OperatorId(1), OperatorId(4)}));
  EXPECT_EQ(placement.stages[2].operators, (std::vector<OperatorId>{OperatorId(2), OperatorId(3)}));
}

TEST(VirtualDevicesTest, TheVerifierAcceptsEveryCut) {
  int judged = 0;
  for (uint64_t seed = 0; seed < 400 && !HasFailure(); ++seed) {
    NetCase test(seed, 24);
    RandomStream random(seed, 6);
    const std::optional<NetAssignment> assignment = test.RandomAssignment(random);
    if (!assignment.has_value()) continue;
    for (DeviceClass& device_class : test.instance.cluster.device_classes) device_class.memory_bytes.reset();
    const Placement placement = test.PlacementOf(*assignment);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(test.instance));
    const Verdict verdict = VerifyPlacement({test.instance.graph, test.instance.cluster, test.problem}, placement);
    EXPECT_TRUE(verdict.violations.empty()) << verdict.violations.ToStatus();
    ++judged;
  }
  EXPECT_GT(judged, 200);
}

}  // namespace
}  // namespace planwright
