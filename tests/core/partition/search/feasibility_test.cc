#include "core/partition/search/feasibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/support/builders.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::StartsWith;

BlockInstance BuildExactly(const OperatorGraph& graph, const Cluster& cluster) {
  const ResolvedProblem problem = ResolveProblem(graph, {});
  return BuildBlockInstance({graph, cluster, problem, CostTable(graph, cluster, problem.workload)}, MergeRule::kExact);
}

std::optional<Infeasibility> Find(const OperatorGraph& graph, const Cluster& cluster) {
  return FindShortages(graph, cluster, BuildExactly(graph, cluster));
}

std::vector<std::string> Descriptions(const std::optional<Infeasibility>& infeasibility) {
  std::vector<std::string> descriptions;
  if (!infeasibility.has_value()) return descriptions;
  for (const Shortage& shortage : infeasibility->shortages) descriptions.push_back(shortage.description);
  return descriptions;
}

OperatorGraph WithMemory(const std::vector<int64_t>& bytes) {
  OperatorGraph graph;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const OperatorId op = AddOperator(graph, std::string(1, static_cast<char>('a' + i)), 10, 100);
    graph.operators[op.index()].memory_bytes = bytes[i];
  }
  return graph;
}

TEST(FindShortagesTest, FindsNoneWhereAPlanMayExist) {
  EXPECT_FALSE(Find(WithMemory({5, 5}), MakeCluster(2, 0, 5)).has_value());
  EXPECT_FALSE(Find(WithMemory({5, 500}), MakeCluster(1, 1, 5)).has_value());
}

TEST(FindShortagesTest, NamesOperatorsThatRunNowhere) {
  OperatorGraph graph = WithMemory({0, 0, 0});
  graph.operators[1].unsupported_device_classes = {kAcceleratorClass, kCpuClass};
  const auto infeasibility = Find(graph, MakeCluster(2, 1));
  EXPECT_THAT(Descriptions(infeasibility),
              ElementsAre("operator \"b\" cannot run on any device class of the cluster (\"accelerator\", \"cpu\"): "
                          "give it a time or FLOPs and bytes for one of them, or add devices that can run it"));
  EXPECT_EQ(infeasibility->shortages[0].resource, "support");
  EXPECT_EQ(infeasibility->shortages[0].subject, "b");
  EXPECT_EQ(infeasibility->minimum_devices, 0);

  // Classes that no device has are no help; colocated operators share their fate.
  graph.operators[1].unsupported_device_classes = {kAcceleratorClass};
  graph.operators[0].colocation_group = graph.operators[1].colocation_group = "group";
  EXPECT_THAT(Descriptions(Find(graph, MakeCluster(1, 0))),
              ElementsAre("operator \"a\" and the 1 operator that must share its device cannot run on any device class "
                          "of the cluster (\"accelerator\"): give it a time or FLOPs and bytes for one of them, or add "
                          "devices that can run it"));
}

TEST(FindShortagesTest, NamesClassesOfCostsThatTheClusterLacksOnce) {
  OperatorGraph graph = WithMemory({0, 0, 0, 0});
  for (const std::size_t op : {0, 2, 3}) graph.operators[op].costs = {{.device_class = "gpu"}};
  graph.operators[3].costs.push_back({.device_class = "tpu"});
  const auto infeasibility = Find(graph, MakeCluster(2, 1));
  EXPECT_THAT(
      Descriptions(infeasibility),
      ElementsAre("the costs of operator \"a\" and 2 more are for device class \"gpu\", which the cluster does not "
                  "have (it has "
                  "\"accelerator\", \"cpu\"): rename the class, give costs for one of these, or add such devices",
                  StartsWith("the costs of operator \"d\" are for device class \"tpu\"")));
  EXPECT_EQ(infeasibility->shortages[0].resource, "support");
  EXPECT_EQ(infeasibility->shortages[0].subject, "gpu");
}

TEST(FindShortagesTest, NamesOperatorsLargerThanAnyDevice) {
  const auto infeasibility = Find(WithMemory({5, 12}), MakeCluster(2, 0, 10));
  EXPECT_THAT(Descriptions(infeasibility),
              ElementsAre("operator \"b\" needs 12 bytes, but the largest device that can run it offers 10 bytes: 2 "
                          "bytes are missing"));
  EXPECT_EQ(infeasibility->shortages[0].needed_bytes, 12);
  EXPECT_EQ(infeasibility->shortages[0].available_bytes, 10);
}

TEST(FindShortagesTest, CountsTheDevicesThatWouldHoldTheModel) {
  const auto infeasibility = Find(WithMemory({8, 8, 7}), MakeCluster(1, 0, 8));
  EXPECT_THAT(Descriptions(infeasibility),
              ElementsAre("the model needs 23 bytes, but all devices together offer 8 bytes: 15 bytes are missing; the "
                          "tightest is operator \"a\" with 8 bytes"));
  EXPECT_EQ(infeasibility->minimum_devices, 3);
}

TEST(FindShortagesTest, PutsTheWholeModelFirstAndListsTenOperatorsAtMost) {
  const auto both = Find(WithMemory({12, 3}), MakeCluster(1, 0, 10));
  ASSERT_THAT(Descriptions(both), SizeIs(2));
  EXPECT_EQ(both->shortages[0].needed_bytes, 15);
  EXPECT_EQ(both->shortages[1].needed_bytes, 12);
  EXPECT_EQ(both->minimum_devices, 0);
  const auto many = Find(WithMemory(std::vector<int64_t>(20, 11)), MakeCluster(1, 0, 10));
  ASSERT_THAT(Descriptions(many), SizeIs(11));
  EXPECT_EQ(many->shortages[0].needed_bytes, 220);
  EXPECT_EQ(many->unlisted, 10);
}

TEST(MemoryDemandTextTest, SaysWhatIsNeededOfWhatThereIs) {
  const OperatorGraph graph = WithMemory({6, 5});
  const Cluster cluster = MakeCluster(2, 0, 10);
  EXPECT_EQ(
      MemoryDemandText(graph, cluster, BuildExactly(graph, cluster)),
      "the model needs at least 11 bytes of 20 bytes on all devices; the tightest is operator \"a\" with 6 bytes, "
      "of 10 bytes on device \"acc0\"");
  const Cluster unlimited = MakeCluster(2, 1, 10);
  EXPECT_EQ(MemoryDemandText(graph, unlimited, BuildExactly(graph, unlimited)), "");
}

TEST(NoSplitFitsTest, SaysThatTheDivisionIsTheProblem) {
  const OperatorGraph graph = WithMemory({6, 6, 6});
  const Infeasibility infeasibility = NoSplitFits(graph, BuildExactly(graph, MakeCluster(2, 0, 10)));
  ASSERT_THAT(infeasibility.shortages, SizeIs(1));
  EXPECT_EQ(
      infeasibility.shortages[0].description,
      "every contiguous split overfills a device: the model needs 18 bytes of 20 bytes on all devices, but its "
      "operators do not divide into stages that fit; the tightest is operator \"a\" with 6 bytes. Use devices with "
      "more memory, or more of them");
}

}  // namespace
}  // namespace planwright
