#include "core/partition/parmesan/pipedream_stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/base/units.h"
#include "core/zoo/zoo.h"

namespace planwright {
namespace {

Chain RandomChain(uint64_t seed) {
  RandomStream random(seed);
  Chain chain;
  chain.layers.resize(3 + random.Below(6));
  for (ChainLayer& layer : chain.layers) {
    layer.forward = Picoseconds(random.Between(1, 9));
    layer.backward = Picoseconds(random.Between(0, 9));
  }
  chain.cuts.resize(chain.layers.size() - 1);
  for (ChainCut& cut : chain.cuts) cut.send_forward = Picoseconds(random.Between(0, 25));
  return chain;
}

int64_t SlowestOf(const Chain& chain, const std::vector<std::size_t>& firsts) {
  int64_t slowest = 0;
  for (std::size_t s = 0; s < firsts.size(); ++s) {
    const std::size_t end = s + 1 < firsts.size() ? firsts[s + 1] : chain.layers.size();
    int64_t time = 0;
    for (std::size_t i = firsts[s]; i < end; ++i) time += (chain.layers[i].forward + chain.layers[i].backward).count();
    slowest = std::max(slowest, time);
    if (s > 0) slowest = std::max(slowest, chain.cuts[firsts[s] - 1].send_forward.count());
  }
  return slowest;
}

int64_t LeastSlowest(const Chain& chain, int32_t stages, std::vector<std::size_t> firsts) {
  if (firsts.size() == static_cast<std::size_t>(stages)) return SlowestOf(chain, firsts);
  int64_t least = kMaxQuantity;
  for (std::size_t next = firsts.back() + 1; next < chain.layers.size(); ++next) {
    std::vector<std::size_t> longer = firsts;
    longer.push_back(next);
    least = std::min(least, LeastSlowest(chain, stages, longer));
  }
  return least;
}

TEST(CutChainTest, EqualsTheBestOfAllCuts) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const Chain chain = RandomChain(seed);
    for (int32_t stages = 1; stages <= 3; ++stages) {
      EXPECT_EQ(SlowestOf(chain, CutChain(chain, stages)), LeastSlowest(chain, stages, {0})) << seed;
    }
  }
}

TEST(PipedreamStagesTest, HoldsWholeLayersOnce) {
  OperatorGraph graph = MakeZooModel("swin-t?batch=1").value();
  Cluster cluster = MakeZooCluster("nodes:1?devices=4").value();
  const ResolvedProblem problem = ResolveProblem(graph, {});
  CostTable costs(graph, cluster, problem.workload);
  const UniformLinksProblem flat{std::move(graph), std::move(cluster), problem, std::move(costs)};
  EXPECT_FALSE(PipedreamStages(flat, DeviceClassId(0), 1'000).has_value());
  const auto found = PipedreamStages(flat, DeviceClassId(0), 4);
  ASSERT_TRUE(found.has_value());
  const std::vector<std::vector<OperatorId>>& stages = *found;
  ASSERT_EQ(stages.size(), 4U);
  std::map<std::string, std::size_t> stage_of_layer;
  std::size_t count = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    EXPECT_FALSE(stages[s].empty());
    count += stages[s].size();
    for (const OperatorId op : stages[s]) {
      EXPECT_EQ(stage_of_layer.try_emplace(flat.graph.operators[op.index()].layer, s).first->second, s);
    }
  }
  EXPECT_EQ(count, flat.graph.operators.size());
}

}  // namespace
}  // namespace planwright
