#include "core/partition/parmesan/pipedream_stages.h"

#include <algorithm>

#include "core/base/index.h"
#include "core/base/units.h"
#include "core/cost/chain/chain_costs.h"
#include "core/graph/chain.h"
#include "core/partition/search/slowest_piece.h"

namespace planwright {
namespace {

// Times of operators, in picoseconds.
std::vector<int64_t> WeightsOf(const UniformLinksProblem& flat, DeviceClassId device_class) {
  return MappedNumbers(flat.graph.operators.size(),
                       [&](std::size_t op) { return flat.costs.time(OperatorId(op), device_class).total().count(); });
}

}  // namespace

std::vector<std::size_t> CutChain(const Chain& chain, int32_t num_stages) {
  const std::size_t layers = chain.layers.size();
  // Time of the layers before each.
  std::vector<int64_t> before(layers + 1, 0);
  for (std::size_t i = 0; i < layers; ++i) {
    before[i + 1] = before[i] + (chain.layers[i].forward + chain.layers[i].backward).count();
  }
  // The layers are cut from the last one on, so that of equally good cuts the last stages are the longest.
  const auto stage_time = [&](int32_t from_end, int32_t next_from_end, int32_t /*behind*/) {
    const std::size_t first = layers - Index(next_from_end);
    const std::size_t end = layers - Index(from_end);
    const Picoseconds sent =
        first == 0 ? Picoseconds(0) : chain.cuts[first - 1].send_forward + chain.cuts[first - 1].send_backward;
    return std::max(sent.count(), before[end] - before[first]);
  };
  const LeastSlowestCuts cuts(static_cast<int32_t>(layers), num_stages, stage_time);
  std::vector<std::size_t> firsts;
  for (const int32_t end : cuts.EndsOf(num_stages)) firsts.push_back(layers - Index(end));
  std::ranges::reverse(firsts);
  return firsts;
}

std::optional<std::vector<std::vector<OperatorId>>> PipedreamStages(const UniformLinksProblem& flat,
                                                                    DeviceClassId device_class, int32_t num_stages) {
  ResolvedProblem problem = flat.problem;
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
