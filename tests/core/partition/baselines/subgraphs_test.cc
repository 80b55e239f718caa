#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "core/partition/baselines/device_assignment.h"
#include "tests/support/builders.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// a -> b -> c -> d.
struct Chain {
  Chain() {
    for (const char* name : {"a", "b", "c", "d"}) ops.push_back(AddOperator(graph, name, 1, 1));
    for (std::size_t i = 1; i < ops.size(); ++i) AddTensor(graph, ops[i - 1], {ops[i]}, 1);
  }

  OperatorGraph graph;
  Cluster cluster = MakeCluster(2, 1);
  std::vector<OperatorId> ops;
  const DeviceId acc0{0};
  const DeviceId acc1{1};
  const DeviceId cpu{2};
};

TEST(CutIntoSubgraphsTest, KeepsWhatIsContiguousWhole) {
  const Chain chain;
  const Placement placement =
      CutIntoSubgraphs(chain.graph, chain.cluster, {chain.acc1, chain.acc1, chain.acc0, chain.acc0});
  ASSERT_THAT(placement.stages, SizeIs(2));
  EXPECT_THAT(placement.stages[0].operators, ElementsAre(chain.ops[0], chain.ops[1]));
  EXPECT_THAT(placement.stages[0].devices, ElementsAre(chain.acc1));
  EXPECT_THAT(placement.stages[1].devices, ElementsAre(chain.acc0));
}

TEST(CutIntoSubgraphsTest, CutsWhereAPathComesBack) {
  const Chain chain;
  const Placement placement =
      CutIntoSubgraphs(chain.graph, chain.cluster, {chain.acc0, chain.acc1, chain.acc0, chain.cpu});
  ASSERT_THAT(placement.stages, SizeIs(4));
  EXPECT_THAT(placement.stages[0].operators, ElementsAre(chain.ops[0]));
  EXPECT_THAT(placement.stages[1].operators, ElementsAre(chain.ops[1]));
  EXPECT_THAT(placement.stages[2].operators, ElementsAre(chain.ops[2]));
  EXPECT_THAT(placement.stages[3].operators, ElementsAre(chain.ops[3]));
  EXPECT_THAT(placement.stages[3].devices, ElementsAre(chain.cpu));
}

TEST(CutIntoSubgraphsTest, PassesAreApartAndDroppedOperatorsLeftOut) {
  Chain chain;
  const OperatorId backward = AddBackward(chain.graph, "a'", chain.ops[0], 1, 1);
  std::vector<std::optional<DeviceId>> device_of(4, chain.acc0);
  device_of.emplace_back(chain.acc0);
  const Placement training = CutIntoSubgraphs(chain.graph, chain.cluster, device_of);
  ASSERT_THAT(training.stages, SizeIs(2));
  EXPECT_THAT(training.stages[0].operators, SizeIs(4));
  EXPECT_THAT(training.stages[1].operators, ElementsAre(backward));
  device_of.back().reset();
  EXPECT_THAT(CutIntoSubgraphs(chain.graph, chain.cluster, device_of).stages, SizeIs(1));
}

}  // namespace
}  // namespace planwright
