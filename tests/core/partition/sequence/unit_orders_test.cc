#include "core/partition/sequence/unit_orders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "tests/core/partition/sequence/chain_case.h"

namespace planwright {
namespace {

constexpr std::size_t kOperators = 60;
constexpr std::size_t kMaxUnits = 12;

SequenceCase LongChain() {
  Instance instance;
  for (std::size_t op = 0; op < kOperators; ++op) {
    instance.graph.operators.push_back(MeasuredOperator("l" + std::to_string(op), 1));
    if (op > 0) instance.graph.tensors.push_back(SizedTensor("t" + std::to_string(op), op - 1, {op}, 1));
  }
  instance.cluster = SmallCluster(8, 0, UniformInterconnect{1e9, Picoseconds(0)});
  return SequenceCase(std::move(instance));
}

// Equally many operators in each stage.
Placement Stages(std::size_t count) {
  Placement placement;
  for (std::size_t stage = 0; stage < count; ++stage) {
    placement.stages.emplace_back().devices = {DeviceId(stage)};
    for (std::size_t op = stage * kOperators / count; op < (stage + 1) * kOperators / count; ++op) {
      placement.stages.back().operators.emplace_back(op);
    }
  }
  return placement;
}

TEST(UnitOrdersTest, NoOrderAroundBordersHasMoreThanTheMostUnits) {
  const SequenceCase given = LongChain();
  const SearchRequest request = given.Request();
  const UnitOrders orders(request, kMaxUnits);
  ASSERT_TRUE(orders.is_coarse());
  for (std::size_t stages = 1; stages <= 8; ++stages) {
    SCOPED_TRACE(stages);
    const UnitOrder units = orders.Around(Stages(stages));
    EXPECT_LE(units.size(), kMaxUnits);
    std::size_t operators = 0;
    for (const std::vector<OperatorId>& unit : units) operators += unit.size();
    EXPECT_EQ(operators, kOperators);
  }
}

TEST(UnitOrdersTest, OperatorsAtBordersAreUnitsOfTheirOwn) {
  const SequenceCase given = LongChain();
  const SearchRequest request = given.Request();
  const UnitOrder units = UnitOrders(request, kMaxUnits).Around(Stages(4));
  const auto is_unit = [&](std::size_t op) {
    return std::ranges::find(units, std::vector<OperatorId>{OperatorId(op)}) != units.end();
  };
  for (const std::size_t border : {15, 30, 45}) {
    EXPECT_TRUE(is_unit(border - 1)) << border;
    EXPECT_TRUE(is_unit(border)) << border;
  }
}

}  // namespace
}  // namespace planwright
