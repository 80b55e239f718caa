#include "core/partition/parmesan/pipedream_stages.h"

#include <algorithm>
#include <limits>

#include "core/base/units.h"
#include "core/cost/chain/chain_costs.h"
#include "core/graph/chain.h"

namespace planwright {
namespace {

// Times of operators, in picoseconds.
std::vector<int64_t> WeightsOf(const FlatProblem& flat, DeviceClassId device_class) {
  std::vector<int64_t> weights;
  for (std::size_t op = 0; op < flat.graph.operators.size(); ++op) {
    weights.push_back(flat.costs.time(OperatorId(op), device_class).total().count());
  }
  return weights;
}

}  // namespace

std::vector<std::size_t> CutChain(const Chain& chain, int32_t num_stages) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  const std::size_t layers = chain.layers.size();
  const auto stages = static_cast<std::size_t>(num_stages);
  // Time of the layers before each.
  std::vector<int64_t> before(layers + 1, 0);
  for (std::size_t i = 0; i < layers; ++i) {
    before[i + 1] = before[i] + (chain.layers[i].forward + chain.layers[i].backward).count();
  }
  // By number of stages and of layers that they hold: the least slowest one, and where the last stage begins.
  std::vector<std::vector<int64_t>> slowest(stages + 1, std::vector<int64_t>(layers + 1, kNever));
  std::vector<std::vector<std::size_t>> begin(stages + 1, std::vector<std::size_t>(layers + 1, 0));
  slowest[0][0] = 0;
  for (std::size_t s = 1; s <= stages; ++s) {
    for (std::size_t end = s; end <= layers; ++end) {
      for (std::size_t first = s - 1; first < end; ++first) {
        if (slowest[s - 1][first] == kNever) continue;
        const int64_t sent =
            first == 0 ? 0 : (chain.cuts[first - 1].send_forward + chain.cuts[first - 1].send_backward).count();
        const int64_t value = std::max({slowest[s - 1][first], sent, before[end] - before[first]});
        if (value >= slowest[s][end]) continue;
        slowest[s][end] = value;
        begin[s][end] = first;
      }
    }
  }
  std::vector<std::size_t> firsts(stages);
  for (std::size_t s = stages, end = layers; s > 0; --s) {
    firsts[s - 1] = begin[s][end];
    end = firsts[s - 1];
  }
  return firsts;
}

std::optional<std::vector<std::vector<OperatorId>>> PipedreamStages(const FlatProblem& flat, DeviceClassId device_class,
                                                                    int32_t num_stages) {
  PlanningProblem problem = flat.problem;
  problem.granularity = Granularity::kLayer;
  const OperatorGroups layers = LinearizeGraph(flat.graph, problem, WeightsOf(flat, device_class), kMaxChainLayers);
  if (layers.size() < static_cast<std::size_t>(num_stages)) return std::nullopt;
  const Chain chain = MakeChain(flat.graph, flat.cluster.interconnect, problem, flat.costs, device_class, layers);
  const std::vector<std::size_t> firsts = CutChain(chain, num_stages);
  std::vector<std::vector<OperatorId>> stages(firsts.size());
  for (std::size_t s = 0; s < firsts.size(); ++s) {
    const std::size_t end = s + 1 < firsts.size() ? firsts[s + 1] : layers.size();
    for (std::size_t layer = firsts[s]; layer < end; ++layer) {
      stages[s].insert(stages[s].end(), layers[layer].begin(), layers[layer].end());
    }
    std::sort(stages[s].begin(), stages[s].end());
  }
  return stages;
}

}  // namespace planwright
