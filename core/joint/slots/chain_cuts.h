// Where to cut a chain of layers into chunks of which the longest takes least.
#ifndef PLANWRIGHT_CORE_JOINT_SLOTS_CHAIN_CUTS_H_
#define PLANWRIGHT_CORE_JOINT_SLOTS_CHAIN_CUTS_H_

#include <cstdint>
#include <vector>

#include "core/joint/slots/cut_shifts.h"

namespace planwright {

// Where at most `most` chunks begin, and behind the last one, of which none takes more than `cap`, as many layers in
// each as fit; empty: there are more. Exact where all cuts cost the same. O(layers).
std::vector<int32_t> CutsUnder(const LayerChain& chain, int64_t cap, int32_t most);

// The least cap of CutsUnder. O(layers log time).
int64_t LeastCapOfCuts(const LayerChain& chain, int32_t most);

// Every cut as cheap as the cheapest.
LayerChain WithLeastCuts(LayerChain chain);

// Exactly `count` chunks: chunks of several layers are halved, the longest first. REQUIRES: as many layers.
void SplitUntil(std::size_t count, std::vector<int32_t>& cuts);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SLOTS_CHAIN_CUTS_H_
