#include "core/joint/slots/chain_cuts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/units.h"

namespace planwright {

std::vector<int32_t> CutsUnder(const LayerChain& chain, int64_t cap, int32_t most) {
  std::vector<int32_t> cuts{0};
  std::size_t first = 0;
  int64_t time = 0;
  // Behind the last place at which the chunk could end.
  std::size_t end = 0;
  for (std::size_t layer = 0; layer < chain.layers.size(); ++layer) {
    time += chain.TimeOf(layer);
    if (chain.cut[first] + time + chain.cut[layer + 1] <= cap) end = layer + 1;
    if (layer + 1 < chain.layers.size() && chain.cut[first] + time <= cap) continue;
    if (end == first || static_cast<int32_t>(cuts.size()) > most) return {};
    cuts.push_back(static_cast<int32_t>(end));
    first = end;
    layer = end - 1;
    time = 0;
  }
  return cuts;
}

int64_t LeastCapOfCuts(const LayerChain& chain, int32_t most) {
  int64_t low = 0;
  int64_t high = 0;
  for (std::size_t layer = 0; layer < chain.layers.size(); ++layer) {
    low = std::max(low, chain.TimeOf(layer));
    high = SaturatingAdd(high, chain.TimeOf(layer) + chain.cut[layer]);
  }
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (CutsUnder(chain, middle, most).empty()) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

LayerChain WithLeastCuts(LayerChain chain) {
  if (chain.layers.size() == 1) return chain;
  const auto first = chain.cut.begin() + 1;
  std::fill(first, chain.cut.end() - 1, *std::min_element(first, chain.cut.end() - 1));
  return chain;
}

void SplitUntil(std::size_t count, std::vector<int32_t>& cuts) {
  while (cuts.size() < count + 1) {
    std::size_t widest = 1;
    for (std::size_t i = 2; i < cuts.size(); ++i) {
      if (cuts[i] - cuts[i - 1] > cuts[widest] - cuts[widest - 1]) widest = i;
    }
    const int32_t middle = cuts[widest - 1] + (cuts[widest] - cuts[widest - 1]) / 2;
    cuts.insert(cuts.begin() + static_cast<std::ptrdiff_t>(widest), middle);
  }
}

}  // namespace planwright
