#include "core/partition/contiguous/interval_costs.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "core/graph/digraph.h"
#include "tests/core/partition/block_oracle.h"

namespace planwright {
namespace {

TEST(IntervalCostsTest, EqualFreshEvaluationOfEveryInterval) {
  RandomStream random(1);
  int feasible = 0;
  int infeasible = 0;
  for (int i = 0; i < 300; ++i) {
    const BlockInstance instance =
        MakeBlockInstance({.num_blocks = 8, .constrained = i % 2 == 1, .any_rule = i % 4 > 1}, random);
    std::vector<int64_t> priority(instance.operators.size());
    for (int64_t& value : priority) value = random.Between(0, 1000);
    const std::vector<int32_t> order = DepthFirstTopologicalOrder(instance.precedence, priority);
    IntervalCosts costs(instance, order);
    const int64_t max_load = random.Between(0, 150);
    for (std::size_t end = 1; end <= order.size(); ++end) {
      // Ends may be left out.
      if (random.Unit() < 0.2) continue;
      costs.MoveTo(end);
      for (std::size_t pool = 0; pool < instance.pools.size(); ++pool) {
        std::vector<int64_t> loads(order.size() + 1, -1);
        const int64_t replicas = random.Between(1, instance.max_replicas(pool));
        const std::size_t first = costs.Loads(pool, replicas, max_load, loads);
        BlockSet set = 0;
        for (std::size_t start = end; start-- > 0;) {
          set |= BlockSet{1} << static_cast<unsigned>(order[start]);
          const int64_t load = NaiveLoad(instance, pool, set, replicas);
          const bool is_feasible = NaiveFits(instance, pool, set) && load <= max_load;
          ++(is_feasible ? feasible : infeasible);
          if (start >= first) {
            ASSERT_EQ(loads[start], is_feasible ? load : IntervalCosts::kInfeasible);
          } else {
            ASSERT_FALSE(is_feasible);
          }
        }
      }
    }
  }
  EXPECT_GT(feasible, 5000);
  EXPECT_GT(infeasible, 5000);
}

}  // namespace
}  // namespace planwright
