// Placements that break rules, one at a time and many at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/model/problem.h"
#include "core/verify/verify.h"
#include "tests/support/builders.h"

namespace planwright {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

auto Is(const std::string& path, const std::string& rule) {
  return AllOf(Field("path", &Violation::path, path), Field("rule", &Violation::rule, rule));
}

// a -> b -> c -> d, 10 ps each on accelerators, 30 ps on CPUs; every tensor takes 1 ps.
class VerifyPlacementTest : public ::testing::Test {
 protected:
  VerifyPlacementTest() : cluster_(MakeCluster(3, 1)) {
    for (const char* name : {"a", "b", "c", "d"}) AddOperator(graph_, name, 10, 30);
    for (std::size_t i = 0; i < 3; ++i) AddTensor(graph_, OperatorId(i), {OperatorId(i + 1)}, 1);
    for (Operator& op : graph_.operators) op.memory_bytes = 4;
  }

  // One stage per list of operators, on the device of the same index unless said otherwise.
  static Placement Place(const std::vector<std::vector<std::size_t>>& stages, std::vector<std::size_t> devices = {}) {
    Placement placement;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      Placement::Stage& stage = placement.stages.emplace_back();
      for (const std::size_t op : stages[i]) stage.operators.emplace_back(op);
      stage.devices = {DeviceId(devices.empty() ? i : devices[i])};
    }
    return placement;
  }

  Verdict Verify(const Placement& placement) const {
    return VerifyPlacement({graph_, cluster_, ResolveProblem(graph_, problem_)}, placement);
  }

  std::vector<Violation> ViolationsIn(const Placement& placement) const {
    return Verify(placement).violations.listed();
  }

  OperatorGraph graph_;
  Cluster cluster_;
  PlanningProblem problem_;
};

TEST_F(VerifyPlacementTest, AcceptsAPipeline) {
  const Verdict verdict = Verify(Place({{0, 1}, {2}, {3}}));
  EXPECT_THAT(verdict.violations.listed(), IsEmpty());
  ASSERT_TRUE(verdict.costed.has_value());
  EXPECT_EQ(verdict.costed->objective, Picoseconds(21));
}

TEST_F(VerifyPlacementTest, NamesOperatorsThatAreMissing) {
  const Verdict verdict = Verify(Place({{0}, {3}}));
  EXPECT_THAT(verdict.violations.listed(), ElementsAre(Is("plan.stages", "operator 'b' is in no stage"),
                                                       Is("plan.stages", "operator 'c' is in no stage")));
  EXPECT_FALSE(verdict.costed.has_value());
}

TEST_F(VerifyPlacementTest, NamesOperatorsThatArePlacedTwice) {
  const Verdict verdict = Verify(Place({{0, 1}, {2, 3, 1}}));
  EXPECT_THAT(verdict.violations.listed(),
              ElementsAre(Is("plan.stages[1].operators[2]",
                             "operator 'b' is placed twice, first at plan.stages[0].operators[1]")));
  EXPECT_FALSE(verdict.costed.has_value());
}

TEST_F(VerifyPlacementTest, RefusesIdsOutOfRange) {
  Placement placement = Place({{0, 1, 4}, {2, 3}});
  placement.stages[0].operators.emplace_back(SIZE_MAX);
  placement.stages[1].devices = {DeviceId(4)};
  const Verdict verdict = Verify(placement);
  EXPECT_THAT(verdict.violations.listed(),
              ElementsAre(Is("plan.stages[0].operators[2]", "the graph has only 4 operators"),
                          Is("plan.stages[0].operators[3]", "the graph has only 4 operators"),
                          Is("plan.stages[1].replicas[0].device", "the cluster has only 4 devices")));
  EXPECT_FALSE(verdict.costed.has_value());
}

TEST_F(VerifyPlacementTest, RefusesStagesWithoutDevice) {
  Placement placement = Place({{0, 1}, {2, 3}});
  placement.stages[1].devices.clear();
  const Verdict verdict = Verify(placement);
  EXPECT_THAT(verdict.violations.listed(), ElementsAre(Is("plan.stages[1].replicas", "the stage has no device")));
  EXPECT_FALSE(verdict.costed.has_value());
}

TEST_F(VerifyPlacementTest, RefusesReplicasWithoutReplication) {
  Placement placement = Place({{0, 1}, {2, 3}});
  placement.stages[0].devices = {DeviceId(0), DeviceId(2), DeviceId(0)};
  const Verdict verdict = Verify(placement);
  EXPECT_THAT(
      verdict.violations.listed(),
      ElementsAre(Is("plan.stages[0].replicas[2].device", "device 'acc0' is already replica 0"),
                  Is("plan.stages[0].replicas", "the stage has 3 replicas, but the problem allows no replication")));
  EXPECT_FALSE(verdict.costed.has_value());
}

TEST_F(VerifyPlacementTest, RefusesClassesThatCannotRunAnOperator) {
  graph_.operators[1].unsupported_device_classes = {kCpuClass};
  graph_.operators[2].costs.pop_back();
  const Verdict verdict = Verify(Place({{0}, {1, 2}, {3}}, {0, 3, 1}));
  EXPECT_THAT(
      verdict.violations.listed(),
      ElementsAre(Is("plan.stages[1].operators[0]", "operator 'b' cannot run on device 'cpu0' of class 'cpu'"),
                  Is("plan.stages[1].operators[1]", "operator 'c' cannot run on device 'cpu0' of class 'cpu'")));
  EXPECT_FALSE(verdict.costed.has_value());
}

TEST_F(VerifyPlacementTest, RefusesTwoStagesOnOneDevice) {
  const Verdict verdict = Verify(Place({{0}, {1, 2}, {3}}, {0, 1, 0}));
  EXPECT_THAT(verdict.violations.listed(),
              ElementsAre(Is("plan.stages[2].replicas[0].device", "stage 2 of device 'acc0', which may hold 1")));
  ASSERT_TRUE(verdict.costed.has_value());
  EXPECT_EQ(verdict.costed->devices[0].load, Picoseconds(10 + 1 + 1 + 10));
}

TEST_F(VerifyPlacementTest, NamesBothOfColocatedOperatorsApart) {
  graph_.operators[0].colocation_group = graph_.operators[3].colocation_group = "tied";
  const OperatorId backward = AddBackward(graph_, "b'", OperatorId(1), 10, 30);
  const Verdict verdict = Verify(Place({{0, 1}, {2, backward.index()}, {3}}));
  EXPECT_THAT(verdict.violations.listed(),
              ElementsAre(Is("plan.stages[2].operators[0]",
                             "operator 'd' is on device 'acc2', but of its colocation group 'tied' operator 'a' is on "
                             "'acc0'"),
                          Is("plan.stages[1].operators[1]",
                             "operator 'b'' is on device 'acc1', but its forward operator 'b' is on 'acc0'")));
  EXPECT_TRUE(verdict.costed.has_value());
}

TEST_F(VerifyPlacementTest, SaysHowMuchMemoryIsMissing) {
  cluster_ = MakeCluster(2, 0, 9);
  cluster_.devices[1].reserved_memory_bytes = 2;
  const Verdict verdict = Verify(Place({{}, {0, 1}, {2, 3}}, {0, 0, 1}));
  EXPECT_THAT(
      verdict.violations.listed(),
      ElementsAre(Is("plan.stages[2]", "memory: needs 8 bytes, device 'acc1' offers 7 bytes: 1 byte too many")));
  EXPECT_TRUE(verdict.costed.has_value());
}

TEST_F(VerifyPlacementTest, WritesLargeSizesForPeople) {
  cluster_ = MakeCluster(1, 0, 16'000'000'000);
  for (Operator& op : graph_.operators) op.memory_bytes = 4'000'308'642;
  EXPECT_THAT(
      ViolationsIn(Place({{0, 1, 2, 3}})),
      ElementsAre(Is("plan.stages[0]",
                     "memory: needs 14.90 GiB, device 'acc0' offers 14.90 GiB: 1.18 MiB (1,234,568 bytes) too many")));
}

TEST_F(VerifyPlacementTest, NamesACycleOfStages) {
  const Verdict verdict = Verify(Place({{3}, {0, 2}, {1}}));
  EXPECT_THAT(
      verdict.violations.listed(),
      ElementsAre(
          Is("plan.stages",
             "no pipeline order: tensor 't0' puts stage 1 before stage 2, tensor 't1' puts stage 2 before stage 1")));
  EXPECT_TRUE(verdict.costed.has_value());
}

TEST_F(VerifyPlacementTest, NonContiguousDevicesHoldSeveralStages) {
  problem_.split = Split::kNonContiguous;
  const Verdict verdict = Verify(Place({{3}, {0}, {2}, {1}}, {0, 1, 1, 2}));
  EXPECT_THAT(verdict.violations.listed(), IsEmpty());
  ASSERT_TRUE(verdict.costed.has_value());
  EXPECT_THAT(verdict.costed->devices[1].stages, ElementsAre(StageId(0), StageId(2)));
  // 10 + 10, and t0 to t2 cross.
  EXPECT_EQ(verdict.costed->devices[1].load, Picoseconds(20 + 3));
}

TEST_F(VerifyPlacementTest, NonContiguousStagesHaveAnOrderToo) {
  problem_.split = Split::kNonContiguous;
  EXPECT_THAT(ViolationsIn(Place({{3}, {0, 2}, {1}})),
              ElementsAre(Field(&Violation::rule, HasSubstr("no pipeline order"))));
}

TEST_F(VerifyPlacementTest, ColocationIsByDeviceNotByStage) {
  problem_.split = Split::kNonContiguous;
  graph_.operators[0].colocation_group = graph_.operators[2].colocation_group = "tied";
  EXPECT_THAT(ViolationsIn(Place({{0}, {1}, {2}, {3}}, {0, 1, 0, 1})), IsEmpty());
}

TEST_F(VerifyPlacementTest, LayersStayInOneStage) {
  problem_.split = Split::kNonContiguous;
  problem_.granularity = Granularity::kLayer;
  graph_.operators[0].layer = graph_.operators[2].layer = "l";
  EXPECT_THAT(ViolationsIn(Place({{0}, {1}, {2}, {3}}, {0, 1, 0, 1})),
              ElementsAre(Is("plan.stages[2].operators[0]",
                             "operator 'c' is in another stage than of its layer 'l' operator 'a', at "
                             "plan.stages[0].operators[0]")));
  EXPECT_THAT(ViolationsIn(Place({{0}, {1}, {2}, {3}}, {0, 1, 2, 1})),
              ElementsAre(Is("plan.stages[2].operators[0]",
                             "operator 'c' is on device 'acc2', but of its layer 'l' operator 'a' is on 'acc0'")));
  EXPECT_THAT(ViolationsIn(Place({{0, 1, 2}, {3}})), IsEmpty());
  problem_.granularity = Granularity::kOperator;
  EXPECT_THAT(ViolationsIn(Place({{0}, {1}, {2}, {3}}, {0, 1, 2, 1})), IsEmpty());
}

TEST_F(VerifyPlacementTest, HonoursPinsAndBans) {
  problem_.pinned = {{OperatorId(0), DeviceId(0)}, {OperatorId(1), DeviceId(2)}};
  problem_.forbidden = {{OperatorId(3), DeviceId(1)}, {OperatorId(3), DeviceId(2)}};
  EXPECT_THAT(
      ViolationsIn(Place({{0, 1}, {2, 3}})),
      ElementsAre(Is("plan.stages[0].operators[1]", "operator 'b' is on device 'acc0', but is pinned to 'acc2'"),
                  Is("plan.stages[1].operators[1]", "operator 'd' must not be on device 'acc1'")));
  EXPECT_THAT(ViolationsIn(Place({{0}, {1, 2}, {3}}, {0, 2, 3})), IsEmpty());
}

TEST_F(VerifyPlacementTest, UsesOnlySelectedDevices) {
  cluster_.devices[0].host = cluster_.devices[3].host = "left";
  cluster_.devices[1].host = "right";
  cluster_.devices[0].labels = cluster_.devices[1].labels = {{"tier", "fast"}, {"rack", "7"}};
  const Placement placement = Place({{0}, {1}, {2}, {3}});
  const auto refused = [&](const std::function<void(DeviceSelection&)>& select) {
    problem_.devices_to_use = {};
    select(problem_.devices_to_use);
    std::vector<std::string> paths;
    for (const Violation& violation : ViolationsIn(placement)) paths.push_back(violation.path);
    return paths;
  };
  EXPECT_THAT(refused([](auto& use) { use.hosts = {"left", "right"}; }), ElementsAre("plan.stages[2].replicas"));
  EXPECT_THAT(refused([](auto& use) {
                use.devices = {DeviceId(3), DeviceId(1), DeviceId(2)};
              }),
              ElementsAre("plan.stages[0].replicas"));
  EXPECT_THAT(refused([](auto& use) {
                use.match_labels = {{"tier", "fast"}};
              }),
              ElementsAre("plan.stages[2].replicas", "plan.stages[3].replicas"));
  EXPECT_THAT(refused([](auto& use) { use.match_labels = {{"tier", "slow"}}; }), ::testing::SizeIs(4));
  EXPECT_THAT(refused([](auto& use) { use.excluded_devices = {DeviceId(1)}; }), ElementsAre("plan.stages[1].replicas"));
  EXPECT_THAT(refused([](auto& use) { use.max_devices = 3; }), ElementsAre("plan.stages"));
  EXPECT_THAT(refused([](auto& use) { use.max_devices = 4; }), IsEmpty());
}

TEST_F(VerifyPlacementTest, ReplicasAreDifferentDevicesOfOneClass) {
  problem_.replication = Replication::kPerStage;
  Placement placement = Place({{0, 1}, {2, 3}});
  placement.stages[0].devices = {DeviceId(2), DeviceId(0)};
  const Verdict verdict = Verify(placement);
  EXPECT_THAT(verdict.violations.listed(), IsEmpty());
  EXPECT_THAT(verdict.costed->stages[0].ring_order, ElementsAre(DeviceId(0), DeviceId(2)));
  EXPECT_EQ(verdict.costed->stages[0].replicas[1].copy, 1);
  placement.stages[0].devices = {DeviceId(0), DeviceId(3)};
  EXPECT_THAT(ViolationsIn(placement),
              ElementsAre(Is("plan.stages[0].replicas",
                             "replicas must be of one device class, but 'acc0' is of class 'accelerator' and 'cpu0' of "
                             "class 'cpu'")));
  placement.stages[0].devices = {DeviceId(0), DeviceId(1)};
  EXPECT_THAT(ViolationsIn(placement),
              ElementsAre(Is("plan.stages[1].replicas[0].device", "stage 2 of device 'acc1', which may hold 1")));
}

TEST_F(VerifyPlacementTest, RingsVisitEveryReplicaOnce) {
  problem_.replication = Replication::kPerStage;
  Placement placement = Place({{0, 1}, {2, 3}});
  placement.stages[0].devices = {DeviceId(2), DeviceId(0)};
  Placement::Stage& stage = placement.stages[0];
  stage.ring = {DeviceId(2), DeviceId(0)};
  EXPECT_THAT(ViolationsIn(placement), IsEmpty());
  EXPECT_THAT(Verify(placement).costed->stages[0].ring_order, ElementsAre(DeviceId(2), DeviceId(0)));
  const auto refused =
      ElementsAre(Is("plan.stages[0].ring_order", "must visit each of the 2 replicas of the stage once"));
  stage.ring = {DeviceId(2)};
  EXPECT_THAT(ViolationsIn(placement), refused);
  stage.ring = {DeviceId(2), DeviceId(2)};
  EXPECT_THAT(ViolationsIn(placement), refused);
  stage.ring = {DeviceId(2), DeviceId(SIZE_MAX)};
  EXPECT_THAT(ViolationsIn(placement), refused);
  stage.ring.clear();
  placement.stages[1].ring = placement.stages[1].devices;
  EXPECT_THAT(ViolationsIn(placement),
              ElementsAre(Is("plan.stages[1].ring_order", "must be empty: a ring joins two replicas at least")));
}

TEST_F(VerifyPlacementTest, RingsByIndexFollowTheCopies) {
  problem_.replication = Replication::kPerStage;
  problem_.allreduce.ring = AllReduce::Ring::kIndex;
  Placement placement = Place({{0, 1}, {2, 3}});
  placement.stages[0].devices = {DeviceId(2), DeviceId(0)};
  EXPECT_THAT(Verify(placement).costed->stages[0].ring_order, ElementsAre(DeviceId(2), DeviceId(0)));
  placement.stages[0].ring = {DeviceId(0), DeviceId(2)};
  EXPECT_THAT(ViolationsIn(placement),
              ElementsAre(Is("plan.stages[0].ring_order",
                             "must visit the replicas in the order of their copies (problem.allreduce.ring INDEX)")));
}

TEST_F(VerifyPlacementTest, UniformReplicasAreEquallyMany) {
  problem_.replication = Replication::kUniform;
  Placement placement = Place({{0, 1}, {2, 3}});
  EXPECT_THAT(ViolationsIn(placement), IsEmpty());
  placement.stages[0].devices = {DeviceId(2), DeviceId(0)};
  EXPECT_THAT(ViolationsIn(placement),
              ElementsAre(Is("plan.stages[1].replicas",
                             "has 1 replicas, plan.stages[0] has 2, but the replication is UNIFORM")));
}

TEST_F(VerifyPlacementTest, NumbersOfStagesAndReplicasAreThoseOfTheProblem) {
  problem_.num_stages = 3;
  problem_.num_replicas = 2;
  EXPECT_THAT(ViolationsIn(Place({{0, 1}, {2, 3}})),
              ElementsAre(Is("plan.stages", "has 2 stages, not 3 (problem.num_stages)"),
                          Is("plan.stages[0].replicas", "has 1 replica, not 2 (problem.num_replicas)"),
                          Is("plan.stages[1].replicas", "has 1 replica, not 2 (problem.num_replicas)")));
}

TEST_F(VerifyPlacementTest, StagesThatShareADeviceHaveTheSameReplicas) {
  problem_.replication = Replication::kPerStage;
  problem_.split = Split::kNonContiguous;
  Placement placement = Place({{0}, {1}, {2, 3}});
  placement.stages[0].devices = placement.stages[2].devices = {DeviceId(0), DeviceId(2)};
  EXPECT_THAT(ViolationsIn(placement), IsEmpty());
  placement.stages[2].devices = {DeviceId(2), DeviceId(0)};
  EXPECT_THAT(ViolationsIn(placement),
              ElementsAre(Is("plan.stages[2].replicas[0].device",
                             "device 'acc2' also holds stage 0, so both need the same replicas in the same order"),
                          Is("plan.stages[2].replicas[1].device",
                             "device 'acc0' also holds stage 0, so both need the same replicas in the same order")));
  placement.stages[2].devices = {DeviceId(0)};
  EXPECT_THAT(ViolationsIn(placement), ::testing::SizeIs(1));
}

TEST_F(VerifyPlacementTest, EveryReplicaNeedsItsMemory) {
  problem_.replication = Replication::kPerStage;
  cluster_ = MakeCluster(3, 0, 9);
  cluster_.devices[2].reserved_memory_bytes = 2;
  Placement placement = Place({{0, 1}, {2, 3}});
  placement.stages[1].devices = {DeviceId(1), DeviceId(2)};
  EXPECT_THAT(
      ViolationsIn(placement),
      ElementsAre(Is("plan.stages[1]", "memory: needs 8 bytes, device 'acc2' offers 7 bytes: 1 byte too many")));
}

TEST_F(VerifyPlacementTest, PutsStagesInPipelineOrderAndDropsEmptyOnes) {
  const Verdict verdict = Verify(Place({{3}, {}, {2, 1}, {0}}));
  EXPECT_THAT(verdict.violations.listed(), IsEmpty());
  ASSERT_EQ(verdict.costed->stages.size(), 3U);
  EXPECT_THAT(verdict.costed->stages[0].operators, ElementsAre(OperatorId(0)));
  EXPECT_THAT(verdict.costed->stages[1].operators, ElementsAre(OperatorId(1), OperatorId(2)));
  EXPECT_THAT(verdict.costed->stages[2].operators, ElementsAre(OperatorId(3)));
  EXPECT_THAT(verdict.costed->devices[2].stages, ElementsAre(StageId(1)));
}

TEST_F(VerifyPlacementTest, KeepsTheOrderGivenWhereItIsOne) {
  graph_.tensors.clear();
  const Verdict verdict = Verify(Place({{3}, {0, 1}, {2}}));
  EXPECT_THAT(verdict.costed->stages[0].operators, ElementsAre(OperatorId(3)));
  EXPECT_THAT(verdict.costed->stages[1].operators, ElementsAre(OperatorId(0), OperatorId(1)));
}

TEST_F(VerifyPlacementTest, OtherwiseTakesTheReadyStageWithTheSmallestOperator) {
  // Only c -> d binds; given is d before c.
  graph_.tensors.erase(graph_.tensors.begin(), graph_.tensors.begin() + 2);
  const Verdict verdict = Verify(Place({{3}, {2}, {1}, {0}}));
  std::vector<std::size_t> order;
  for (const Stage& stage : verdict.costed->stages) order.push_back(stage.operators.front().index());
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
}

TEST_F(VerifyPlacementTest, FindsEveryViolationAtOnce) {
  graph_.operators[0].colocation_group = graph_.operators[1].colocation_group = "tied";
  cluster_ = MakeCluster(3, 0, 3);
  const std::vector<Violation> violations = ViolationsIn(Place({{0, 2}, {1}, {3}}, {0, 1, 1}));
  EXPECT_THAT(violations, Contains(Field(&Violation::rule, HasSubstr("colocation group"))));
  EXPECT_THAT(violations, Contains(Field(&Violation::rule, HasSubstr("may hold 1"))));
  EXPECT_THAT(violations, Contains(Field(&Violation::rule, HasSubstr("no pipeline order"))));
  EXPECT_THAT(violations, Contains(Field(&Violation::path, "plan.stages[0]")));
  EXPECT_THAT(violations, Contains(Field(&Violation::path, "plan.stages[1]")));
}

TEST_F(VerifyPlacementTest, RefusesAnEmptyPlacement) { EXPECT_EQ(ViolationsIn(Placement()).size(), 4U); }

class VerifyLatencyPlacementTest : public VerifyPlacementTest {
 protected:
  VerifyLatencyPlacementTest() { problem_.objective = Objective::kMinLatency; }
};

TEST_F(VerifyLatencyPlacementTest, CpusNeedNotBeContiguous) {
  const Verdict verdict = Verify(Place({{1}, {3, 0, 2}}, {0, 3}));
  EXPECT_THAT(verdict.violations.listed(), IsEmpty());
  EXPECT_EQ(verdict.costed->objective, Picoseconds(30 + 12 + 30 + 30));
}

TEST_F(VerifyLatencyPlacementTest, NamesSubgraphsThatWaitForEachOther) {
  const Verdict verdict = Verify(Place({{3}, {0, 2}, {1}}, {0, 1, 3}));
  EXPECT_THAT(verdict.violations.listed(),
              ElementsAre(Is("plan.stages",
                             "cannot be executed: tensor 't0' puts stage 1 before operator 'b', tensor 't1' puts "
                             "operator 'b' before stage 1")));
  EXPECT_FALSE(verdict.costed.has_value());
}

TEST_F(VerifyLatencyPlacementTest, LimitsSubgraphsPerDeviceAndPass) {
  const Placement placement = Place({{0}, {1}, {2}, {3}}, {0, 1, 0, 1});
  EXPECT_THAT(
      ViolationsIn(placement),
      ElementsAre(
          Is("plan.stages[2].replicas[0].device", "subgraph 2 of one pass on device 'acc0', which may hold 1"),
          Is("plan.stages[3].replicas[0].device", "subgraph 2 of one pass on device 'acc1', which may hold 1")));
  problem_.max_subgraphs_per_device = 2;
  EXPECT_THAT(ViolationsIn(placement), IsEmpty());
  problem_.max_subgraphs_per_device.reset();
  problem_.split = Split::kNonContiguous;
  EXPECT_THAT(ViolationsIn(placement), IsEmpty());
}

TEST_F(VerifyLatencyPlacementTest, KeepsTheOrderOfSubgraphsOnADevice) {
  graph_.tensors.clear();
  problem_.split = Split::kNonContiguous;
  const Verdict verdict = Verify(Place({{2}, {3}, {0, 1}}, {0, 0, 0}));
  EXPECT_THAT(verdict.costed->tasks[1].start, Picoseconds(10));
  EXPECT_THAT(verdict.costed->stages[1].operators, ElementsAre(OperatorId(3)));
}

TEST_F(VerifyLatencyPlacementTest, FindsAnOrderThatCanBeExecuted) {
  problem_.split = Split::kNonContiguous;
  const Verdict verdict = Verify(Place({{1}, {2}, {0}, {3}}, {3, 0, 0, 1}));
  EXPECT_THAT(verdict.violations.listed(), IsEmpty());
  std::vector<std::size_t> order;
  for (const Stage& stage : verdict.costed->stages) order.push_back(stage.operators.front().index());
  EXPECT_THAT(order, ElementsAre(0, 2, 3, 1));
}

TEST_F(VerifyLatencyPlacementTest, ColocationTakesAllCpusForOneDevice) {
  cluster_ = MakeCluster(1, 2);
  graph_.operators[0].colocation_group = graph_.operators[1].colocation_group = "tied";
  EXPECT_THAT(ViolationsIn(Place({{0, 2}, {1, 3}}, {1, 2})), IsEmpty());
  EXPECT_THAT(ViolationsIn(Place({{0}, {1, 2, 3}}, {0, 2})),
              ElementsAre(Is("plan.stages[1].operators[0]",
                             "operator 'b' is on device 'cpu1', but of its colocation group 'tied' operator 'a' is on "
                             "'acc0'")));
}

TEST_F(VerifyLatencyPlacementTest, LayersStayInOneSubgraph) {
  problem_.granularity = Granularity::kLayer;
  problem_.max_subgraphs_per_device = 2;
  graph_.operators[0].layer = graph_.operators[2].layer = "l";
  EXPECT_THAT(ViolationsIn(Place({{0}, {1}, {2}, {3}}, {0, 1, 0, 1})), ::testing::SizeIs(1));
  EXPECT_THAT(ViolationsIn(Place({{1}, {0}, {2}, {3}}, {0, 3, 3, 1})), IsEmpty());
}

// Backward operators on top: d' -> c' -> b' -> a', and an orphan "o" that reads c' and feeds b'.
class VerifyTrainingPlacementTest : public VerifyPlacementTest {
 protected:
  static constexpr std::size_t kBackwardD = 4;
  static constexpr std::size_t kBackwardC = 5;
  static constexpr std::size_t kBackwardB = 6;
  static constexpr std::size_t kBackwardA = 7;
  static constexpr std::size_t kOrphan = 8;

  VerifyTrainingPlacementTest() {
    AddBackward(graph_, "d'", OperatorId(3), 20, 60);
    AddBackward(graph_, "c'", OperatorId(2), 20, 60);
    AddBackward(graph_, "b'", OperatorId(1), 20, 60);
    AddBackward(graph_, "a'", OperatorId(0), 20, 60);
    AddOperator(graph_, "o", 5, 15);
    graph_.operators[kOrphan].pass = Pass::kBackward;
    for (std::size_t i = kBackwardD; i < kBackwardA; ++i) AddTensor(graph_, OperatorId(i), {OperatorId(i + 1)}, 1);
    AddTensor(graph_, OperatorId(kBackwardC), {OperatorId(kOrphan)}, 1);
    AddTensor(graph_, OperatorId(kOrphan), {OperatorId(kBackwardB)}, 1);
    for (Operator& op : graph_.operators) op.memory_bytes = 4;
  }
};

TEST_F(VerifyTrainingPlacementTest, AcceptsAPipelineThereAndBack) {
  const Verdict verdict = Verify(Place({{0, kBackwardA, 1, kBackwardB, kOrphan}, {2, 3, kBackwardC, kBackwardD}}));
  EXPECT_THAT(verdict.violations.listed(), IsEmpty());
  EXPECT_TRUE(verdict.costed->stages[0].backward_contiguous);
  EXPECT_TRUE(verdict.costed->stages[1].backward_contiguous);
}

TEST_F(VerifyTrainingPlacementTest, MirroredEdgesOfOrphansMustGoForwardToo) {
  // The orphan lies between b' and c', so it may not come after the stage of c.
  const std::vector<Violation> violations =
      ViolationsIn(Place({{0, kBackwardA, 1, kBackwardB}, {2, kBackwardC}, {3, kBackwardD, kOrphan}}));
  EXPECT_THAT(
      violations,
      ElementsAre(
          Is("plan.stages",
             "no pipeline order: tensor 't2' puts stage 1 before stage 2, tensor 't6' puts stage 2 before stage 1")));
}

TEST_F(VerifyTrainingPlacementTest, AnOrphanColocatedWithAForwardOperatorIsNone) {
  graph_.operators[kOrphan].colocation_group = graph_.operators[3].colocation_group = "tied";
  const Verdict verdict = Verify(Place({{0, kBackwardA, 1, kBackwardB}, {2, kBackwardC}, {3, kBackwardD, kOrphan}}));
  EXPECT_THAT(verdict.violations.listed(), IsEmpty());
  // d' -> c' -> o leaves the backward part of the last stage and comes back.
  EXPECT_TRUE(verdict.costed->stages[0].backward_contiguous);
  EXPECT_TRUE(verdict.costed->stages[1].backward_contiguous);
  EXPECT_FALSE(verdict.costed->stages[2].backward_contiguous);
}

TEST_F(VerifyTrainingPlacementTest, InferenceDropsBackwardOperators) {
  problem_.workload = Workload::kInference;
  const Verdict verdict = Verify(Place({{0, 1}, {2, kOrphan}, {3, kBackwardA, kBackwardA}, {kBackwardB}}));
  EXPECT_THAT(verdict.violations.listed(), IsEmpty());
  ASSERT_EQ(verdict.costed->stages.size(), 3U);
  EXPECT_THAT(verdict.costed->stages[2].operators, ElementsAre(OperatorId(3)));
  EXPECT_EQ(verdict.costed->objective, Picoseconds(21));
  EXPECT_EQ(verdict.costed->devices[1].memory_bytes, 4);
}

TEST_F(VerifyTrainingPlacementTest, SubgraphsOfLatencyAreOfOnePass) {
  problem_.objective = Objective::kMinLatency;
  const std::vector<Violation> mixed =
      ViolationsIn(Place({{0, kBackwardA, 1, kBackwardB, kOrphan}, {2, 3, kBackwardC, kBackwardD}}));
  EXPECT_THAT(mixed, Contains(Is("plan.stages[1]",
                                 "a subgraph has operators of one pass, but 'c' and 'd'' are of different ones")));
  // Without max_subgraphs_per_device a device holds one of each pass, and colocated operators share the device.
  EXPECT_THAT(
      ViolationsIn(Place({{0, 1}, {2, 3}, {kBackwardC, kBackwardD}, {kBackwardA, kBackwardB, kOrphan}}, {0, 1, 1, 0})),
      IsEmpty());
}

// One forward operator and one of a chain of 100 backward operators on each of 99 devices, two of each on the first:
// more stages than one word of the check has bits.
TEST(BackwardContiguityTest, IsFoundForManyStages) {
  constexpr std::size_t kStages = 100;
  OperatorGraph graph;
  for (std::size_t i = 0; i < 2 * kStages; ++i) {
    const OperatorId op = AddOperator(graph, absl::StrCat("f", i), 1, 1);
    graph.operators[op.index()].pass = i < kStages ? Pass::kForward : Pass::kBackward;
    if (i >= kStages) graph.operators[op.index()].forward_operator = OperatorId(i % kStages);
  }
  for (std::size_t i = kStages; i + 1 < 2 * kStages; ++i) AddTensor(graph, OperatorId(i), {OperatorId(i + 1)}, 1);
  // Stage 0 holds the first and the last of the backward chain; every other stage one of the rest.
  graph.operators.back().forward_operator = OperatorId(0);
  Placement placement;
  for (std::size_t i = 0; i < kStages; ++i) {
    placement.stages.push_back({{OperatorId(i)}, {DeviceId(i)}});
    placement.stages[i + 1 < kStages ? i : 0].operators.emplace_back(kStages + i);
  }
  const Cluster cluster = MakeCluster(kStages, 0);
  const Verdict verdict = VerifyPlacement({graph, cluster, ResolveProblem(graph, PlanningProblem())}, placement);
  ASSERT_TRUE(verdict.violations.empty()) << verdict.violations.ToStatus();
  for (std::size_t i = 0; i < kStages; ++i) EXPECT_EQ(verdict.costed->stages[i].backward_contiguous, i != 0) << i;
}

}  // namespace
}  // namespace planwright
